/** Plans a Job: how it ends, how many pods it wants, and which it deletes. Pure. */
import { clampToSafe } from "#api/go/go-integer.ts";
import type { Job, Pod } from "#api/gen/types.ts";
import { findCondition } from "#client/conditions.ts";
import { compareActive, isTerminating } from "../pods/pod.ts";
import { failureVerdict, isPodFailed, replacesOnlyFailed } from "./failure-policy.ts";
import * as indexes from "./indexes.ts";
import type { Indexes } from "./indexes.ts";
import { isIndexed, type Tally } from "./tally.ts";
import { indexOfPod } from "./tracked.ts";

export interface Ending {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

export function isFinishedJob(job: Job): boolean {
  return isConditionTrue(job, "Complete") || isConditionTrue(job, "Failed");
}

export function isConditionTrue(job: Job, type: string): boolean {
  return findCondition(job.status?.conditions, type)?.status === "True";
}

/** How the Job ends before anything is created or deleted; undefined: it continues. */
export function endingOf(
  job: Job,
  pods: readonly Pod[],
  tally: Tally,
  options: { readonly failed: Indexes; readonly nowMs: number },
): Ending | undefined {
  return (
    findDecided(job) ??
    checkFailurePolicy(job, pods) ??
    checkBackoffLimit(job, pods, tally, options.nowMs) ??
    checkFailedIndexes(job, tally, options.failed) ??
    successPolicyMet(job, tally)
  );
}

/** The ending in the status, which is never withdrawn. */
function findDecided(job: Job): Ending | undefined {
  for (const [early, type] of [
    ["SuccessCriteriaMet", "Complete"],
    ["FailureTarget", "Failed"],
  ] as const) {
    if (!isConditionTrue(job, early)) continue;
    const { reason = "", message = "" } = findCondition(job.status?.conditions, early) ?? {};
    return { type, reason, message };
  }
  return undefined;
}

function checkFailurePolicy(job: Job, pods: readonly Pod[]): Ending | undefined {
  if (job.spec?.podFailurePolicy === undefined) return undefined;
  const verdicts = pods
    .filter((pod) => isPodFailed(job, pod))
    .map((pod) => failureVerdict(job, pod));
  const fatal = verdicts.find((verdict) => verdict.action === "FailJob");
  return fatal && failedEnding("PodFailurePolicy", fatal.message);
}

function checkBackoffLimit(
  job: Job,
  pods: readonly Pod[],
  tally: Tally,
  nowMs: number,
): Ending | undefined {
  if (exceedsBackoff(job, pods, tally))
    return failedEnding("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if ((deadlineInMs(job, nowMs) ?? 1) > 0) return undefined;
  return failedEnding("DeadlineExceeded", "Job was active longer than specified deadline");
}

function exceedsBackoff(job: Job, pods: readonly Pod[], tally: Tally): boolean {
  const unlimited = job.spec?.backoffLimitPerIndex === undefined ? 6 : Number.POSITIVE_INFINITY;
  const limit = job.spec?.backoffLimit ?? unlimited;
  if (tally.total.failed > limit) return true;
  if (job.spec?.template?.spec?.restartPolicy !== "OnFailure") return false;
  const working = pods.filter(({ status }) => ["Running", "Pending"].includes(status?.phase ?? ""));
  const statuses = working.flatMap(({ status }) => [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ]);
  const restarts = statuses.reduce((all, status) => all + status.restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Time until the active deadline; undefined: there is none. */
export function deadlineInMs(job: Job, nowMs: number): number | undefined {
  const seconds = job.spec?.activeDeadlineSeconds;
  if (seconds === undefined || job.status?.startTime === undefined || job.spec?.suspend === true)
    return undefined;
  return Date.parse(job.status.startTime) + clampToSafe(seconds) * 1000 - nowMs;
}

function checkFailedIndexes(job: Job, tally: Tally, failures: Indexes): Ending | undefined {
  if (!isIndexed(job) || job.spec?.backoffLimitPerIndex === undefined) return undefined;
  const count = indexes.countOf(failures);
  if (count > (job.spec.maxFailedIndexes ?? Number.POSITIVE_INFINITY)) {
    const message = "Job has exceeded the specified maximal number of failed indexes";
    return failedEnding("MaxFailedIndexesExceeded", message);
  }
  const over = count + indexes.countOf(tally.seen) >= (job.spec.completions ?? 0);
  return count > 0 && over ? failedEnding("FailedIndexes", "Job has failed indexes") : undefined;
}

function successPolicyMet(job: Job, tally: Tally): Ending | undefined {
  const rules = job.spec?.successPolicy?.rules ?? [];
  if (!isIndexed(job) || tally.seen.length === 0) return undefined;
  const at = rules.findIndex(({ succeededIndexes, succeededCount = Number.POSITIVE_INFINITY }) => {
    if (succeededIndexes === undefined) return indexes.countOf(tally.seen) >= succeededCount;
    const named = indexes.parseIndexes(succeededIndexes, job.spec?.completions ?? 0);
    const hits = indexes.overlap(named, tally.seen);
    return named.length > 0 && (hits === indexes.countOf(named) || hits >= succeededCount);
  });
  if (at < 0) return undefined;
  return { type: "Complete", reason: "SuccessPolicy", message: `Matched rules at index ${at}` };
}

function failedEnding(reason: string, message: string): Ending {
  return { type: "Failed", reason, message };
}

/** Complete when enough pods have succeeded and none is active. */
export function completion(job: Job, tally: Tally, active: number): Ending | undefined {
  const { succeeded } = tally.total;
  const enough =
    job.spec?.completions === undefined ? succeeded > 0 : succeeded >= job.spec.completions;
  if (!enough || active > 0) return undefined;
  const message = "Reached expected number of succeeded pods";
  return { type: "Complete", reason: "CompletionsReached", message };
}

/** Number of pods that should be active. */
export function countWantedActive(job: Job, active: number, tally: Tally): number {
  if (job.spec?.suspend === true) return 0;
  const parallelism = job.spec?.parallelism ?? 1;
  const completions = job.spec?.completions;
  // A work queue: after the first success no new pods are created.
  if (completions === undefined) return tally.total.succeeded > 0 ? active : parallelism;
  return Math.min(Math.max(0, completions - tally.total.succeeded), parallelism);
}

/** Number of pods to create, in addition to active pods and those that must end before being replaced. */
export function missingPods(
  job: Job,
  pods: readonly Pod[],
  counts: { readonly active: number; readonly wanted: number },
): number {
  const awaited = replacesOnlyFailed(job) ? pods.filter(isTerminating).length : 0;
  return Math.max(0, counts.wanted - counts.active - awaited);
}

/** The lowest indexes that have neither ended nor an active pod. */
export function indexesToCreate(
  job: Job,
  pods: readonly Pod[],
  over: readonly Indexes[],
  count: number,
): readonly number[] {
  const working = pods.filter(
    (pod) => isAtWork(pod) || (replacesOnlyFailed(job) && isTerminating(pod)),
  );
  const taken = indexes.indexesOf(working.flatMap((pod) => indexOfPod(pod) ?? []));
  return indexes.firstFree(indexes.union(taken, ...over), job.spec?.completions ?? 0, count);
}

function isAtWork(pod: Pod): boolean {
  const phase = pod.status?.phase;
  const living = pod.metadata?.deletionTimestamp === undefined;
  return living && phase !== "Succeeded" && phase !== "Failed";
}

/**
 * Pods to delete: the first `count` in deletion order. For an Indexed Job always also the pods without a valid index,
 * and all but one pod of each index.
 */
export function surplusPods(job: Job, active: readonly Pod[], count: number): readonly Pod[] {
  const sorted = active.toSorted(compareActive);
  const wrong = isIndexed(job) ? wrongIndexes(sorted, job.spec?.completions ?? 0) : new Set<Pod>();
  const rest = sorted.filter((pod) => !wrong.has(pod));
  return [...wrong, ...rest.slice(0, Math.max(0, count - wrong.size))];
}

/** `sorted` is in deletion order, so that the last pod of an index is kept. */
function wrongIndexes(sorted: readonly Pod[], completions: number): Set<Pod> {
  const kept = new Map<number, Pod>();
  for (const pod of sorted) {
    const index = indexOfPod(pod);
    if (index !== undefined && index < completions) kept.set(index, pod);
  }
  const keep = new Set(kept.values());
  return new Set(sorted.filter((pod) => !keep.has(pod)));
}
