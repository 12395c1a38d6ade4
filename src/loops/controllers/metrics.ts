/** Metrics of the controllers' work, with upstream's names, labels and buckets. They are kept across terms. */
import type { Job, JobStatus, ResourceClaim } from "#api/gen/types.ts";
import type {
  Counter,
  CounterCell,
  Histogram,
  HistogramCell,
  MetricSet,
} from "#metrics/metric-set.ts";

const doubled = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, power) => Number((first * 2 ** power).toFixed(3)));

interface JobSync {
  readonly createdCount: number;
  readonly deletedCount: number;
  readonly isFailed: boolean;
  readonly ms: number;
}

export class ControllerMetrics {
  readonly #jobSyncs: Counter;
  readonly #jobSeconds: Histogram;
  readonly #jobsFinished: Counter;
  readonly #jobPodsFinished: Counter;
  readonly #evictions: Counter;
  readonly #cronSkew: HistogramCell;
  readonly #claimsCreated: Counter;
  readonly #deviceEvictions: CounterCell;
  readonly #deviceEvictionSeconds: HistogramCell;

  constructor(set: MetricSet) {
    const labels = ["completion_mode", "result", "action"];
    this.#jobSyncs = set.counter(
      "job_controller_job_syncs_total",
      "[STABLE] Syncs of jobs.",
      labels,
    );
    this.#jobSeconds = set.histogram(
      "job_controller_job_sync_duration_seconds",
      "[STABLE] Time of a sync in seconds.",
      labels,
      doubled(0.004, 15),
    );
    this.#jobsFinished = set.counter(
      "job_controller_jobs_finished_total",
      "[STABLE] Jobs that finished.",
      ["completion_mode", "result", "reason"],
    );
    this.#jobPodsFinished = set.counter(
      "job_controller_job_pods_finished_total",
      "[STABLE] Pods of jobs that finished.",
      ["completion_mode", "result"],
    );
    this.#evictions = set.counter(
      "node_collector_evictions_total",
      "[STABLE] Nodes that were given up, by zone.",
      ["zone"],
    );
    this.#cronSkew = set
      .histogram(
        "cronjob_controller_job_creation_skew_duration_seconds",
        "[STABLE] Time from a job's turn until it was created in seconds.",
        [],
        doubled(1, 10),
      )
      .cell([]);
    this.#claimsCreated = set.counter(
      "resourceclaim_controller_creates_total",
      "[ALPHA] ResourceClaims made from templates, and attempts that failed.",
      ["status", "admin_access"],
    );
    this.#deviceEvictions = set
      .counter(
        "device_taint_eviction_controller_pod_deletions_total",
        "[ALPHA] Pods deleted because of taints of their devices.",
        [],
      )
      .cell([]);
    this.#deviceEvictionSeconds = set
      .histogram(
        "device_taint_eviction_controller_pod_deletion_duration_seconds",
        "[ALPHA] Time from the turn of a pod with a tainted device until it was deleted in seconds.",
        [],
        [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
      )
      .cell([]);
  }

  resourceClaimCreated(status: "success" | "failure", { spec }: ResourceClaim): void {
    const requests = spec.devices?.requests ?? [];
    const isAdmin = requests.some(({ exactly }) => exactly?.adminAccess === true);
    this.#claimsCreated.add([status, String(isAdmin)]);
  }

  jobSynced(job: Job, { createdCount, deletedCount, isFailed, ms }: JobSync): void {
    const action =
      createdCount > 0 ? "pods_created" : deletedCount > 0 ? "pods_deleted" : "reconciling";
    const labels = [modeOf(job), isFailed ? "error" : "success", action];
    this.#jobSyncs.add(labels);
    this.#jobSeconds.observe(labels, ms / 1_000);
  }

  /** Called for each status written; `job` has the previous one. */
  jobStatusWritten(job: Job, status: JobStatus): void {
    this.#podsFinished(job, status);
    for (const { type, status: value, reason = "" } of status.conditions ?? []) {
      const result = type === "Complete" ? "succeeded" : type === "Failed" ? "failed" : undefined;
      if (result === undefined || value !== "True" || hasEnded(job, type)) continue;
      this.#jobsFinished.add([modeOf(job), result, reason]);
    }
  }

  /** Counts decrease only when an indexed job is made smaller, which is not a finished pod. */
  #podsFinished(job: Job, status: JobStatus): void {
    for (const result of ["succeeded", "failed"] as const) {
      const count = (status[result] ?? 0) - (job.status?.[result] ?? 0);
      if (count > 0) this.#jobPodsFinished.add([modeOf(job), result], count);
    }
  }

  /** `zone`: region and zone joined as in upstream; empty: the node names none. */
  nodeGivenUp(zone: string): void {
    this.#evictions.add([zone]);
  }

  /** `lateMs`: since the time at which the pod had to go. */
  deviceTaintEvicted(lateMs: number): void {
    this.#deviceEvictions.count++;
    this.#deviceEvictionSeconds.observe(lateMs / 1_000);
  }

  cronJobCreated(skewMs: number): void {
    this.#cronSkew.observe(skewMs / 1_000);
  }
}

function modeOf(job: Job): string {
  return job.spec?.completionMode ?? "NonIndexed";
}

function hasEnded({ status }: Job, type: string): boolean {
  return (status?.conditions ?? []).some((one) => one.type === type && one.status === "True");
}
