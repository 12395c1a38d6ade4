/**
 * Counts and times of a controller, as Prometheus text under controller-runtime's and client-go's names,
 * so that dashboards made for Go operators display them.
 *
 * Bounds one series per outcome and bucket. After controller-runtime pkg/internal/controller/metrics.
 */
import type { Clock } from "#platform/clock.ts";
import type { ReconcileResult } from "./run-workers.ts";
import type { WorkQueueMetrics } from "./workqueue.ts";

/** controller-runtime's buckets, in seconds. */
const buckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

type Outcome = "success" | "error" | "requeue_after";

export class ReconcileMetrics {
  readonly #name: string;
  readonly #workers: number;
  readonly #outcomes: Record<Outcome, number> = { success: 0, error: 0, requeue_after: 0 };
  /** Number of reconciles per bucket, each counted in its lowest one. */
  readonly #times: number[] = buckets.map(() => 0);
  #seconds = 0;
  #active = 0;

  constructor(options: { readonly name: string; readonly workers: number }) {
    this.#name = options.name;
    this.#workers = options.workers;
  }

  async measure(clock: Clock, f: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    const startMs = clock.monotonicMs();
    let outcome: Outcome = "error";
    this.#active++;
    try {
      const result = await f();
      outcome = result === undefined ? "success" : "requeue_after";
      return result;
    } finally {
      this.#active--;
      this.#outcomes[outcome]++;
      this.#observe((clock.monotonicMs() - startMs) / 1_000);
    }
  }

  text(queue: WorkQueueMetrics, isLeading: boolean): string {
    const of = `controller="${this.#name}"`;
    const total = this.#outcomes.success + this.#outcomes.error + this.#outcomes.requeue_after;
    const results = Object.entries(this.#outcomes).map(
      ([result, count]) => `{${of},result="${result}"} ${count}`,
    );
    const waiting = `{${of},name="${this.#name}"}`;
    return [
      family("controller_runtime_reconcile_total", "counter", results),
      family("controller_runtime_reconcile_errors_total", "counter", [
        `{${of}} ${this.#outcomes.error}`,
      ]),
      family("controller_runtime_reconcile_time_seconds", "histogram", this.#histogram(of, total)),
      family("controller_runtime_max_concurrent_reconciles", "gauge", [`{${of}} ${this.#workers}`]),
      family("controller_runtime_active_workers", "gauge", [`{${of}} ${this.#active}`]),
      family("workqueue_depth", "gauge", [`${waiting} ${queue.waiting}`]),
      family("workqueue_adds_total", "counter", [`${waiting} ${queue.added}`]),
      family("workqueue_retries_total", "counter", [`${waiting} ${queue.retries}`]),
      family("leader_election_master_status", "gauge", [
        `{name="${this.#name}"} ${isLeading ? 1 : 0}`,
      ]),
    ].join("");
  }

  #observe(seconds: number): void {
    this.#seconds += seconds;
    const at = buckets.findIndex((most) => seconds <= most);
    if (at >= 0) this.#times[at] = (this.#times[at] ?? 0) + 1;
  }

  #histogram(of: string, total: number): readonly string[] {
    let below = 0;
    const counts = buckets.map((most, at) => {
      below += this.#times[at] ?? 0;
      return `_bucket{${of},le="${most}"} ${below}`;
    });
    return [
      ...counts,
      `_bucket{${of},le="+Inf"} ${total}`,
      `_sum{${of}} ${this.#seconds}`,
      `_count{${of}} ${total}`,
    ];
  }
}

function family(name: string, type: string, series: readonly string[]): string {
  return `# TYPE ${name} ${type}\n${series.map((line) => `${name}${line}\n`).join("")}`;
}
