/** Admission metrics with upstream's names, labels and buckets: for each plugin, and each whole pass. */
import type { Histogram, HistogramCell, MetricSet } from "#metrics/metric-set.ts";
import type { Clock } from "#platform/clock.ts";
import type { AdmissionRequest } from "./admission.ts";

const secondsBounds = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

type Pass = "admit" | "validate";

export class AdmissionMetrics {
  readonly #clock: Clock;
  readonly #plugins: Histogram;
  readonly #steps: Histogram;
  /** Histograms of plugins that did not refuse, by pass and operation. */
  readonly #admitted = new Map<string, Map<string, HistogramCell>>();

  constructor(clock: Clock, set: MetricSet) {
    this.#clock = clock;
    this.#plugins = set.histogram(
      "apiserver_admission_controller_admission_duration_seconds",
      "[STABLE] Time of a plugin in seconds.",
      ["name", "type", "operation", "rejected"],
      secondsBounds,
    );
    this.#steps = set.histogram(
      "apiserver_admission_step_admission_duration_seconds",
      "[STABLE] Time of all plugins of a pass in seconds.",
      ["type", "operation", "rejected"],
      secondsBounds,
    );
  }

  begin(pass: Pass, operation: AdmissionRequest["operation"]): PassTimes {
    const key = `${pass} ${operation}`;
    const known = this.#admitted.get(key) ?? new Map<string, HistogramCell>();
    this.#admitted.set(key, known);
    const cellOf = (plugin: string, isRejected: boolean): HistogramCell => {
      const seen = isRejected ? undefined : known.get(plugin);
      if (seen !== undefined) return seen;
      const cell = this.#plugins.cell([plugin, pass, operation, String(isRejected)]);
      if (!isRejected) known.set(plugin, cell);
      return cell;
    };
    const step = (isRejected: boolean, seconds: number): void =>
      this.#steps.observe([pass, operation, String(isRejected)], seconds);
    return new PassTimes(this.#clock, cellOf, step);
  }
}

/** Times of one pass of one request: the time between two plugins counts for the first one. */
export class PassTimes {
  readonly #clock: Clock;
  readonly #cellOf: (plugin: string, isRejected: boolean) => HistogramCell;
  readonly #step: (isRejected: boolean, seconds: number) => void;
  readonly #beganMs: number;
  #plugin: string | undefined;
  #sinceMs: number;

  constructor(
    clock: Clock,
    cellOf: (plugin: string, isRejected: boolean) => HistogramCell,
    step: (isRejected: boolean, seconds: number) => void,
  ) {
    this.#clock = clock;
    this.#cellOf = cellOf;
    this.#step = step;
    this.#beganMs = clock.monotonicMs();
    this.#sinceMs = this.#beganMs;
  }

  next(plugin: string): void {
    this.#close(false);
    this.#plugin = plugin;
  }

  end(isRejected: boolean): void {
    this.#close(isRejected);
    this.#step(isRejected, (this.#sinceMs - this.#beganMs) / 1_000);
  }

  #close(isRejected: boolean): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#plugin !== undefined)
      this.#cellOf(this.#plugin, isRejected).observe((nowMs - this.#sinceMs) / 1_000);
    this.#sinceMs = nowMs;
  }
}
