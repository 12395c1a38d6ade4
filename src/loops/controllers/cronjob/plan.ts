/** Computes a CronJob's next run, and the past Jobs to delete or report. Pure. */
import { clampToSafe } from "#api/go/go-integer.ts";
import type { CronJob, Job } from "#api/gen/types.ts";
import { nextAfter, parseCron } from "#api/values/cron.ts";
import { findCondition } from "#client/conditions.ts";

/** With more missed runs than this there is a warning, and they are not enumerated. */
const missedMax = 100;

export interface Due {
  /** The latest missed start time; undefined: none was missed. */
  readonly scheduledMs: number | undefined;
  /** Whether more than 100 start times were missed: clock skew, or the controller was down. */
  readonly hasTooMany: boolean;
  readonly nextMs: number | undefined;
}

/** Throws CronError for an invalid schedule, RangeError for an unknown time zone. */
export function dueRun(cron: CronJob, nowMs: number): Due {
  const schedule = parseCron(cron.spec?.schedule ?? "");
  const zone = cron.spec?.timeZone ?? "UTC";
  const after = (timeMs: number): number | undefined => nextAfter(schedule, timeMs, zone);
  const earliest = earliestMs(cron, nowMs);
  const missed = latestDue(after, earliest, nowMs);
  // `@every` counts from the last run instead of now.
  const from = schedule.kind === "every" ? (missed.latest ?? earliest) : nowMs;
  return { scheduledMs: missed.latest, hasTooMany: missed.tooMany, nextMs: after(from) };
}

function earliestMs(cron: CronJob, nowMs: number): number {
  const created = Date.parse(cron.metadata?.creationTimestamp ?? "") || nowMs;
  const last = Date.parse(cron.status?.lastScheduleTime ?? "") || created;
  const deadline = cron.spec?.startingDeadlineSeconds;
  return deadline === undefined ? last : Math.max(last, nowMs - clampToSafe(deadline) * 1000);
}

function latestDue(
  after: (timeMs: number) => number | undefined,
  earliest: number,
  nowMs: number,
): { readonly latest: number | undefined; readonly tooMany: boolean } {
  let latest: number | undefined;
  let count = 0;
  let at = after(earliest);
  while (at !== undefined && at <= nowMs) {
    latest = at;
    if (++count > missedMax) return { latest: latestBefore(after, latest, nowMs), tooMany: true };
    at = after(at);
  }
  return { latest, tooMany: false };
}

/** The last run in [known, now], by bisection. */
function latestBefore(
  after: (timeMs: number) => number | undefined,
  known: number,
  nowMs: number,
): number {
  let latest = known;
  let end = nowMs;
  while (end > latest) {
    const middle = latest + Math.floor((end - latest) / 2);
    const found = after(middle);
    if (found !== undefined && found <= nowMs) latest = found;
    else if (middle === latest) return latest;
    else end = middle;
  }
  return latest;
}

export function jobNameAt(cron: CronJob, scheduledMs: number): string {
  return `${cron.metadata?.name ?? ""}-${Math.floor(scheduledMs / 60_000)}`;
}

/** RFC 3339 in the schedule's zone, as upstream annotates the Job. */
export function scheduledTimestamp(cron: CronJob, scheduledMs: number): string {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: cron.spec?.timeZone ?? "UTC",
    timeZoneName: "longOffset",
  });
  const name = format
    .formatToParts(scheduledMs)
    .find((part) => part.type === "timeZoneName")?.value;
  const [, sign = "+", hours = "00", minutes = "00"] =
    /GMT([+-])(\d\d):(\d\d)/.exec(name ?? "") ?? [];
  const offsetMs = (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  const local = new Date(scheduledMs + offsetMs).toISOString().slice(0, 19);
  return offsetMs === 0 ? `${local}Z` : `${local}${sign}${hours}:${minutes}`;
}

/** Finished jobs beyond the history limits, oldest first. */
export function beyondHistory(cron: CronJob, jobs: readonly Job[]): readonly Job[] {
  const ended = (type: string): Job[] =>
    jobs
      .filter((job) => findCondition(job.status?.conditions, type)?.status === "True")
      .toSorted((a, b) => startOf(a) - startOf(b) || (nameOf(a) < nameOf(b) ? -1 : 1));
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

function nameOf(job: Job): string {
  return job.metadata?.name ?? "";
}

/** Events about active Jobs that have finished or are missing. */
export function goneFromActive(cron: CronJob, jobs: readonly Job[]) {
  const byUid = new Map(jobs.map((job) => [job.metadata?.uid ?? "", job]));
  return (cron.status?.active ?? []).flatMap(({ name = "", uid = "" }) => {
    const event = eventOfActive(name, byUid.get(uid));
    return event === undefined ? [] : [{ type: "Normal" as const, ...event }];
  });
}

function eventOfActive(name: string, job: Job | undefined) {
  if (job === undefined)
    return { reason: "MissingJob", message: `Active job went missing: ${name}` };
  const ended = job.status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  if (ended === undefined) return undefined;
  const message = `Saw completed job: ${name}, condition: ${ended.type}`;
  return { reason: "SawCompletedJob", message };
}
