/** Metrics of admission policies, by upstream's names and labels. */
import type { Clock } from "#platform/clock.ts";
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";

const bounds = [0.0000005, 0.001, 0.01, 0.1, 1];
const labels = ["policy", "policy_binding", "error_type"];

/** Metrics of the checks of one type of policies. */
export class PolicyMetrics {
  readonly #clock: Clock;
  readonly #checks: Counter;
  readonly #durations: Histogram;

  constructor(clock: Clock, metrics: MetricSet, type: "validating" | "mutating") {
    this.#clock = clock;
    const name = `apiserver_${type}_admission_policy_check`;
    const names = type === "validating" ? [...labels, "enforcement_action"] : labels;
    const stability = type === "validating" ? "[BETA]" : "[ALPHA]";
    const whose = `checks of ${type} admission policies, by policy, binding and error.`;
    this.#checks = metrics.counter(`${name}_total`, `${stability} Number of ${whose}`, names);
    this.#durations = metrics.histogram(
      `${name}_duration_seconds`,
      `${stability} Seconds of ${whose}`,
      names,
      bounds,
    );
  }

  /** Starts to measure a check. Returns a function to call when its outcome is known. */
  start(): (policy: string, binding: string, error: string | undefined, action?: string) => void {
    const began = this.#clock.monotonicMs();
    return (policy, binding, error, action) => {
      const values = [policy, binding, errorType(error), ...(action === undefined ? [] : [action])];
      this.#checks.add(values);
      this.#durations.observe(values, (this.#clock.monotonicMs() - began) / 1000);
    };
  }
}

function errorType(message: string | undefined): string {
  if (message === undefined) return "no_error";
  if (message.startsWith("compilation")) return "compile_error";
  if (message.startsWith("validation failed due to running out of cost budget")) {
    return "out_of_budget";
  }
  return "invalid_error";
}
