/** Metrics of groups, with upstream's names, labels and buckets; upstream has them with its gate GenericWorkload. */
import type { Counter, Histogram, HistogramCell, MetricSet } from "#metrics/metric-set.ts";
import type { GangResult } from "./gang-scheduler.ts";

const buckets = Array.from({ length: 15 }, (_, power) => Number((0.001 * 2 ** power).toFixed(3)));

export class GangMetrics {
  readonly #attempts: Counter;
  readonly #attemptSeconds: Histogram;
  readonly #algorithmSeconds: HistogramCell;

  constructor(set: MetricSet) {
    const labels = ["profile", "result"];
    this.#attempts = set.counter(
      "scheduler_podgroup_schedule_attempts_total",
      "[ALPHA] Attempts to schedule a pod group, by result: scheduled, unschedulable, waiting_on_preemption, or error.",
      labels,
    );
    this.#attemptSeconds = set.histogram(
      "scheduler_podgroup_scheduling_attempt_duration_seconds",
      "[ALPHA] Time of an attempt to schedule a pod group in seconds.",
      labels,
      buckets,
    );
    this.#algorithmSeconds = set
      .histogram(
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        "[ALPHA] Time of a decision about a pod group in seconds.",
        [],
        buckets,
      )
      .cell([]);
  }

  attempted(profile: string, result: GangResult, ms: number): void {
    this.#attempts.cell([profile, result]).count++;
    this.#attemptSeconds.cell([profile, result]).observe(ms / 1_000);
    this.#algorithmSeconds.observe(ms / 1_000);
  }
}
