/**
 * The scheduler's metrics, with upstream's names, labels and buckets. They outlive a leader term, while each term has a
 * new scheduler.
 *
 * Cost   clock readings and additions per decision: the series of a profile are resolved when the profile is made.
 * Not    times of single plugins: plugins here process all nodes at once or share one walk, so they have no separate
 *        times.
 */
import type {
  Counter,
  CounterCell,
  Histogram,
  HistogramCell,
  MetricSet,
} from "#metrics/metric-set.ts";
import type { Clock } from "#platform/clock.ts";
import { GangMetrics } from "./gangs/gang-metrics.ts";
import { schedulerNameOf } from "./pod-info.ts";
import type { PendingCounts, QueuedPod } from "./queue.ts";
import type { StepTimes } from "./schedule-algorithm.ts";

export type AttemptResult = "scheduled" | "unschedulable" | "error";
type ExtensionPoint =
  | "PreFilter"
  | "Filter"
  | "PostFilter"
  | "Score"
  | "Reserve"
  | "PreBind"
  | "Bind";
type PointStatus = "Success" | "Unschedulable" | "Error";

const doubled = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, power) => Number((first * 2 ** power).toPrecision(12)));
const attemptsShownMax = 15;

/** Figures of a running scheduler, read at each scrape. */
export interface SchedulerState {
  readonly assumedPods: number;
  readonly nodes: number;
  readonly placedPods: number;
  readonly pending: PendingCounts;
  readonly unschedulable: Iterable<readonly [labels: readonly string[], count: number]>;
}

export class SchedulerMetrics {
  readonly #attempts: Counter;
  readonly #attemptSeconds: Histogram;
  readonly #pointSeconds: Histogram;
  readonly #algorithmSeconds: HistogramCell;
  readonly #podAttempts: HistogramCell;
  readonly #sliSeconds: Histogram;
  readonly #incoming: Counter;
  readonly preemptionAttempts: CounterCell;
  readonly preemptionVictims: HistogramCell;
  readonly gangs: GangMetrics;
  #state: (() => SchedulerState) | undefined;

  constructor(set: MetricSet) {
    this.#attempts = set.counter(
      "scheduler_schedule_attempts_total",
      "[STABLE] Attempts to schedule a pod, by result: scheduled, unschedulable, or error.",
      ["profile", "result"],
    );
    this.#attemptSeconds = set.histogram(
      "scheduler_scheduling_attempt_duration_seconds",
      "[STABLE] Time of an attempt in seconds: the decision, and the binding where there is one.",
      ["profile", "result"],
      doubled(0.001, 15),
    );
    this.#pointSeconds = set.histogram(
      "scheduler_framework_extension_point_duration_seconds",
      "[STABLE] Time of all plugins of an extension point in seconds.",
      ["extension_point", "profile", "status"],
      doubled(0.0001, 12),
    );
    this.#algorithmSeconds = set
      .histogram(
        "scheduler_scheduling_algorithm_duration_seconds",
        "[ALPHA] Time of a decision in seconds.",
        [],
        doubled(0.001, 15),
      )
      .cell([]);
    this.#podAttempts = set
      .histogram(
        "scheduler_pod_scheduling_attempts",
        "[STABLE] Attempts that a pod took until it was scheduled.",
        [],
        doubled(1, 5),
      )
      .cell([]);
    this.#sliSeconds = set.histogram(
      "scheduler_pod_scheduling_sli_duration_seconds",
      "[BETA] Time from a pod's first entry into the active queue to its binding in seconds.",
      ["attempts"],
      doubled(0.01, 20),
    );
    this.#incoming = set.counter(
      "scheduler_queue_incoming_pods_total",
      "[STABLE] Pods added to the parts of the queue, by event.",
      ["queue", "event"],
    );
    this.preemptionAttempts = set
      .counter("scheduler_preemption_attempts_total", "[STABLE] Attempts to preempt.", [])
      .cell([]);
    this.preemptionVictims = set
      .histogram(
        "scheduler_preemption_victims",
        "[STABLE] Pods that a preemption evicts.",
        [],
        doubled(1, 7),
      )
      .cell([]);
    this.gangs = new GangMetrics(set);
    this.#describeState(set);
  }

  /** Sets the source of figures: the scheduler of this term. Undefined: no scheduler runs. */
  show(state: (() => SchedulerState) | undefined): void {
    this.#state = state;
  }

  profile(name: string): ProfileMetrics {
    const byResult = (result: AttemptResult) => ({
      count: this.#attempts.cell([name, result]),
      seconds: this.#attemptSeconds.cell([name, result]),
    });
    return new ProfileMetrics(
      {
        scheduled: byResult("scheduled"),
        unschedulable: byResult("unschedulable"),
        error: byResult("error"),
      },
      (point, status) => this.#pointSeconds.cell([point, name, status]),
    );
  }

  decided(ms: number): void {
    this.#algorithmSeconds.observe(ms / 1000);
  }

  scheduled(attempts: number, sinceActiveMs: number): void {
    this.#podAttempts.observe(attempts);
    const label = attempts >= attemptsShownMax ? `${attemptsShownMax}+` : String(attempts);
    this.#sliSeconds.cell([label]).observe(sinceActiveMs / 1000);
  }

  readonly incoming = (queue: string, event: string): void => this.#incoming.add([queue, event]);

  #describeState(set: MetricSet): void {
    const of = <T>(read: (state: SchedulerState) => T): T | undefined =>
      this.#state === undefined ? undefined : read(this.#state());
    set.gaugeOf(
      "scheduler_pending_pods",
      "[STABLE] Pods that wait for a node, by part of the queue.",
      ["queue"],
      () =>
        Object.entries(of(({ pending }) => pending) ?? {}).map(([name, count]) => [[name], count]),
    );
    set.gaugeOf(
      "scheduler_unschedulable_pods",
      "[ALPHA] Pods that wait, by the plugins that refused them.",
      ["plugin", "profile"],
      () => of(({ unschedulable }) => unschedulable) ?? [],
    );
    set.gaugeOf(
      "scheduler_cache_size",
      "[ALPHA] Nodes, pods on them, and pods assumed on them in the cache.",
      ["type"],
      () =>
        of(({ assumedPods, nodes, placedPods }) => [
          [["assumed_pods"], assumedPods],
          [["nodes"], nodes],
          [["pods"], placedPods],
        ]) ?? [],
    );
  }
}

/** Counts Pods by the plugin that refused them and by their profile. */
export function countByPlugin(pods: Iterable<QueuedPod>): SchedulerState["unschedulable"] {
  const counts = new Map<string, { readonly labels: readonly string[]; count: number }>();
  for (const { info, rejectors } of pods) {
    for (const plugin of rejectors) {
      const labels = [plugin, schedulerNameOf(info.pod)];
      const row = counts.get(labels.join()) ?? { labels, count: 0 };
      row.count++;
      counts.set(labels.join(), row);
    }
  }
  return [...counts.values()].map(({ labels, count }) => [labels, count]);
}

interface AttemptCells {
  readonly count: CounterCell;
  readonly seconds: HistogramCell;
}

/** The metric series of one profile. */
export class ProfileMetrics {
  readonly #byResult: Readonly<Record<AttemptResult, AttemptCells>>;
  readonly #makePoint: (point: ExtensionPoint, status: PointStatus) => HistogramCell;
  readonly #points = new Map<ExtensionPoint, Map<PointStatus, HistogramCell>>();

  constructor(
    byResult: Readonly<Record<AttemptResult, AttemptCells>>,
    makePoint: (point: ExtensionPoint, status: PointStatus) => HistogramCell,
  ) {
    this.#byResult = byResult;
    this.#makePoint = makePoint;
  }

  attempted(result: AttemptResult, ms: number): void {
    const { count, seconds } = this.#byResult[result];
    count.count++;
    seconds.observe(ms / 1000);
  }

  /** Returns the step timer of one profile, whose decisions run one at a time. */
  steps(clock: Clock): StepTimes {
    let sinceMs = 0;
    return {
      begin: () => void (sinceMs = clock.monotonicMs()),
      end: (point, status) => {
        const nowMs = clock.monotonicMs();
        this.ran(point, status, nowMs - sinceMs);
        sinceMs = nowMs;
      },
    };
  }

  ran(point: ExtensionPoint, status: PointStatus, ms: number): void {
    const cells = this.#points.get(point) ?? new Map<PointStatus, HistogramCell>();
    const cell = cells.get(status) ?? this.#makePoint(point, status);
    cells.set(status, cell);
    this.#points.set(point, cells);
    cell.observe(ms / 1000);
  }
}
