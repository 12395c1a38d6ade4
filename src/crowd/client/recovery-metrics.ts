/** The recovery budget as metrics: the rate, why it is what it is, who waits, and for how long grants waited. */
import type { Histogram, MetricSet } from "#metrics/metric-set.ts";
import { type RecoveryBudget, type RecoveryStep, recoverySteps } from "./recovery-budget.ts";

const secondsBounds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

export class RecoveryMetrics {
  readonly #waited: Histogram;
  readonly #budgets: (readonly [component: string, budget: RecoveryBudget])[] = [];

  constructor(set: MetricSet) {
    this.#waited = set.histogram(
      "pilothouse_recovery_wait_seconds",
      "Time that pods waited for the recovery budget in seconds; those that did not wait are not counted.",
      ["component", "step"],
      secondsBounds,
    );
    set.gaugeOf(
      "pilothouse_recovery_pods_per_second",
      "Pods a second that may be evicted, created and bound; reason: why the rate was last changed.",
      ["component", "reason"],
      () => this.#budgets.map(([name, budget]) => [[name, budget.reason], budget.perSecond]),
    );
    set.gaugeOf(
      "pilothouse_recovery_waiting_pods",
      "Pods that wait for the recovery budget.",
      ["component", "step"],
      () =>
        this.#budgets.flatMap(([name, budget]) =>
          recoverySteps.map((step) => [[name, step], budget.waiting(step)] as const),
        ),
    );
  }

  /** Takes the place of an earlier budget of the component: a term has its own. */
  show(component: string, budget: RecoveryBudget): void {
    const at = this.#budgets.findIndex(([name]) => name === component);
    if (at >= 0) this.#budgets.splice(at, 1);
    this.#budgets.push([component, budget]);
  }

  granted(component: string, step: RecoveryStep, waitedMs: number): void {
    this.#waited.observe([component, step], waitedMs / 1_000);
  }
}
