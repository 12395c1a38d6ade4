/** When a CronJob runs next and what is left over from its past runs, pure. */
import type { CronJob, Job } from "#api/gen/types.ts";
import { nextAfter, parseCron, type CronSchedule } from "#api/cron.ts";
import { findCondition } from "../shared/conditions.ts";

/** Missed runs looked through at the most; beyond it only the latest is sought from nearby. */
const missedMax = 100;

export interface Due {
  /** The latest time that should have run and has not; undefined: none. */
  readonly scheduledMs: number | undefined;
  /** Further missed times before it, for the event. */
  readonly tooMany: boolean;
  readonly nextMs: number | undefined;
}

/** Throws CronError for a schedule that does not parse. */
export function dueRun(cron: CronJob, nowMs: number): Due {
  const schedule = parseCron(cron.spec?.schedule ?? "");
  const zone = cron.spec?.timeZone ?? "UTC";
  const created = Date.parse(cron.metadata?.creationTimestamp ?? "") || nowMs;
  const last = Date.parse(cron.status?.lastScheduleTime ?? "") || created;
  const deadline = cron.spec?.startingDeadlineSeconds;
  const earliest = deadline === undefined ? last : Math.max(last, nowMs - deadline * 1000);
  let at = next(schedule, earliest, zone);
  let latest: number | undefined;
  let missed = 0;
  while (at !== undefined && at <= nowMs) {
    latest = at;
    missed++;
    at = missed < missedMax ? next(schedule, at, zone) : latestBefore(schedule, at, nowMs, zone);
    if (missed > missedMax) break;
  }
  return { scheduledMs: latest, tooMany: missed > missedMax, nextMs: next(schedule, nowMs, zone) };
}

function next(schedule: CronSchedule, afterMs: number, zone: string): number | undefined {
  return nextAfter(schedule, afterMs, zone);
}

/** After very many misses: jump close to now by halving the gap, then there are few steps left. */
function latestBefore(
  schedule: CronSchedule,
  fromMs: number,
  nowMs: number,
  zone: string,
): number | undefined {
  let low = fromMs;
  for (let gap = nowMs - fromMs; gap > 1000; gap /= 2) {
    const candidate = next(schedule, low + gap / 2, zone);
    if (candidate !== undefined && candidate <= nowMs) low = candidate;
  }
  return next(schedule, low - 1000, zone);
}

export function jobNameAt(cron: CronJob, scheduledMs: number): string {
  return `${cron.metadata?.name ?? ""}-${Math.floor(scheduledMs / 60_000)}`;
}

/** Finished jobs beyond the history limits, oldest first. */
export function beyondHistory(cron: CronJob, jobs: readonly Job[]): readonly Job[] {
  const ended = (type: string): Job[] =>
    jobs
      .filter((job) => findCondition(job.status?.conditions, type)?.status === "True")
      .toSorted((a, b) => startOf(a) - startOf(b));
  const excess = (list: Job[], limit: number): Job[] =>
    list.slice(0, Math.max(0, list.length - limit));
  return [
    ...excess(ended("Complete"), cron.spec?.successfulJobsHistoryLimit ?? 3),
    ...excess(ended("Failed"), cron.spec?.failedJobsHistoryLimit ?? 1),
  ];
}

function startOf(job: Job): number {
  return Date.parse(job.status?.startTime ?? job.metadata?.creationTimestamp ?? "") || 0;
}
