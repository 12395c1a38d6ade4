/** The status of a CronJob, pure. */
import type { CronJob, CronJobStatus, Job } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import { findCondition } from "#client/conditions.ts";
import { isFinishedJob } from "../job/plan.ts";

interface StatusInput {
  readonly cron: CronJob;
  readonly jobs: readonly Job[];
  /** The Job started by this reconcile. */
  readonly started: Job | undefined;
  /** Start time of the run started now; undefined: lastScheduleTime stays. */
  readonly scheduledMs: number | undefined;
}

export function cronStatus({ cron, jobs, started, scheduledMs }: StatusInput): CronJobStatus {
  const running = jobs.filter((job) => !isFinishedJob(job));
  const active = [...running, ...(started === undefined ? [] : [started])].map(referenceTo);
  const { status } = cron;
  const scheduled = scheduledMs === undefined ? status?.lastScheduleTime : formatTime(scheduledMs);
  const succeeded = lastSuccess(cron, jobs);
  return {
    ...(active.length === 0 ? {} : { active: keepVersions(active, status?.active) }),
    ...given({ lastScheduleTime: scheduled }),
    ...(succeeded === "" ? {} : { lastSuccessfulTime: succeeded }),
  };
}

function referenceTo({ metadata }: Job) {
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = metadata ?? {};
  return { apiVersion: "batch/v1", kind: "Job", name, namespace, uid, resourceVersion };
}

/** Empty when no Job has completed. */
function lastSuccess(cron: CronJob, jobs: readonly Job[]): string {
  const times = jobs
    .filter((job) => findCondition(job.status?.conditions, "Complete")?.status === "True")
    .map((job) => job.status?.completionTime ?? "");
  return [...times, cron.status?.lastSuccessfulTime ?? ""].toSorted().at(-1) ?? "";
}

interface ActiveReference {
  readonly uid?: string;
}

/** Keeps resourceVersions of references, so that a running Job's status changes do not change the CronJob's status. */
function keepVersions<T extends ActiveReference>(
  active: readonly T[],
  old: readonly ActiveReference[] | undefined,
): readonly T[] {
  return active.map((reference) => {
    const before = old?.find((other) => other.uid === reference.uid);
    return before === undefined ? reference : (before as T);
  });
}
