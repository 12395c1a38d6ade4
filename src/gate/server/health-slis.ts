/**
 * Metrics of health checks for /metrics/slis: the last result of each check, and the number of times of each result.
 *
 * They are counted as in upstream: at each probe of a health path that runs the check.
 */
import { type Counter, MetricSet } from "#metrics/metric-set.ts";
import type { Health, HealthCheck } from "./health.ts";

export class HealthSlis {
  readonly metrics = new MetricSet();
  readonly #last: Counter;
  readonly #total: Counter;

  constructor() {
    this.#last = this.metrics.gauge(
      "kubernetes_healthcheck",
      "[STABLE] 1 when the check succeeded when it was last asked, else 0.",
      ["name", "type"],
    );
    this.#total = this.metrics.counter(
      "kubernetes_healthchecks_total",
      "[STABLE] Results of the checks.",
      ["name", "type", "status"],
    );
  }

  /** Returns the same checks, with their results counted. */
  counted(health: Health): Health {
    const { healthz, livez, readyz } = health;
    return {
      healthz: healthz.map((check) => this.#counted(check, "healthz")),
      livez: livez.map((check) => this.#counted(check, "livez")),
      readyz: readyz.map((check) => this.#counted(check, "readyz")),
    };
  }

  #counted(check: HealthCheck, type: keyof Health): HealthCheck {
    return {
      ...check,
      check: () => {
        const problem = check.check();
        this.#last.set([check.name, type], problem === undefined ? 1 : 0);
        this.#total.add([check.name, type, problem === undefined ? "success" : "error"]);
        return problem;
      },
    };
  }
}
