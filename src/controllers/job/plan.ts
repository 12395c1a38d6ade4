/** What a Job does next, pure: how it ends, how many pods it wants, which it deletes. */
import type { Job, Pod } from "#api/gen/types.ts";
import { findCondition } from "../shared/conditions.ts";
import { isReady } from "../shared/pod.ts";
import { failureVerdict } from "./failure-policy.ts";
import { parseIndexes } from "./indexes.ts";
import { indexOfPod, total, type Tally } from "./tally.ts";

export interface Ending {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

export function isFinishedJob(job: Job): boolean {
  const has = (type: string): boolean =>
    findCondition(job.status?.conditions, type)?.status === "True";
  return has("Complete") || has("Failed");
}

export function activePods(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => {
    const phase = pod.status?.phase;
    return (
      phase !== "Succeeded" && phase !== "Failed" && pod.metadata?.deletionTimestamp === undefined
    );
  });
}

export function readyCount(pods: readonly Pod[]): number {
  return activePods(pods).filter(isReady).length;
}

export function terminatingCount(pods: readonly Pod[]): number {
  return pods.filter((pod) => {
    const phase = pod.status?.phase;
    return (
      pod.metadata?.deletionTimestamp !== undefined && phase !== "Succeeded" && phase !== "Failed"
    );
  }).length;
}

/** Why the Job is over, or undefined while it goes on. */
export function endingOf(
  job: Job,
  pods: readonly Pod[],
  tally: Tally,
  nowMs: number,
): Ending | undefined {
  const target = findCondition(job.status?.conditions, "FailureTarget");
  if (target?.status === "True")
    return { type: "Failed", reason: target.reason ?? "", message: target.message ?? "" };
  const failed = pods.filter((pod) => pod.status?.phase === "Failed");
  const fatal = failed
    .map((pod) => failureVerdict(job, pod))
    .find((verdict) => verdict.action === "FailJob");
  if (fatal !== undefined)
    return { type: "Failed", reason: "PodFailurePolicy", message: fatal.message };
  if (exceedsBackoff(job, pods, tally)) {
    return {
      type: "Failed",
      reason: "BackoffLimitExceeded",
      message: "Job has reached the specified backoff limit",
    };
  }
  if ((deadlineInMs(job, nowMs) ?? 1) <= 0) {
    return {
      type: "Failed",
      reason: "DeadlineExceeded",
      message: "Job was active longer than specified deadline",
    };
  }
  const policy = successPolicyMet(job, tally);
  if (policy !== undefined) return { type: "Complete", reason: "SuccessPolicy", message: policy };
  if (!isComplete(job, pods, tally)) return undefined;
  return {
    type: "Complete",
    reason: "CompletionsReached",
    message: "Reached expected number of succeeded pods",
  };
}

function exceedsBackoff(job: Job, pods: readonly Pod[], tally: Tally): boolean {
  const limit = job.spec?.backoffLimit ?? 6;
  if (total(tally).failed > limit) return true;
  if (job.spec?.template?.spec?.restartPolicy !== "OnFailure") return false;
  const restarts = activePods(pods).flatMap((pod) => [
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.containerStatuses ?? []),
  ]);
  const sum = restarts.reduce((all, status) => all + status.restartCount, 0);
  return limit === 0 ? sum > 0 : sum >= limit;
}

/** Undefined when no deadline runs. */
export function deadlineInMs(job: Job, nowMs: number): number | undefined {
  const seconds = job.spec?.activeDeadlineSeconds;
  if (seconds === undefined || job.status?.startTime === undefined || job.spec?.suspend === true)
    return undefined;
  return Date.parse(job.status.startTime) + seconds * 1000 - nowMs;
}

function isComplete(job: Job, pods: readonly Pod[], tally: Tally): boolean {
  const { succeeded } = total(tally);
  const completions = job.spec?.completions;
  if (completions === undefined) return succeeded > 0 && activePods(pods).length === 0;
  return succeeded >= completions;
}

function successPolicyMet(job: Job, tally: Tally): string | undefined {
  const rules = job.spec?.successPolicy?.rules ?? [];
  const done = parseIndexes(tally.completedIndexes, job.spec?.completions ?? 0);
  for (const [at, rule] of rules.entries()) {
    const named =
      rule.succeededIndexes === undefined
        ? undefined
        : parseIndexes(rule.succeededIndexes, job.spec?.completions ?? 0);
    const hits =
      named === undefined ? done.size : [...named].filter((index) => done.has(index)).length;
    const wanted = rule.succeededCount ?? named?.size ?? Number.NaN;
    if (hits >= wanted) return `Matched rules at index ${at}`;
  }
  return undefined;
}

/** How many pods should be at work now. */
export function wantedActive(job: Job, active: number, tally: Tally): number {
  if (job.spec?.suspend === true) return 0;
  const parallelism = job.spec?.parallelism ?? 1;
  const { succeeded } = total(tally);
  const completions = job.spec?.completions;
  if (completions === undefined) return succeeded > 0 ? active : parallelism;
  return Math.min(Math.max(0, completions - succeeded), parallelism);
}

/** Lowest indexes that are neither done nor at work; for a plain Job just a count of blanks. */
export function indexesToCreate(
  job: Job,
  active: readonly Pod[],
  tally: Tally,
  count: number,
): readonly (number | undefined)[] {
  if (job.spec?.completionMode !== "Indexed") return Array.from({ length: count }, () => undefined);
  const completions = job.spec.completions ?? 0;
  const taken = parseIndexes(tally.completedIndexes, completions);
  for (const pod of active) {
    const index = indexOfPod(pod);
    if (index !== undefined) taken.add(index);
  }
  const free: number[] = [];
  for (let index = 0; index < completions && free.length < count; index++)
    if (!taken.has(index)) free.push(index);
  return free;
}

/** Pods to delete when there are too many: not ready first, then the youngest. */
export function surplus(active: readonly Pod[], count: number): readonly Pod[] {
  const rank = (pod: Pod): string =>
    `${isReady(pod) ? 1 : 0}${invert(pod.metadata?.creationTimestamp ?? "")}`;
  return active.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, Math.max(0, count));
}

/** Later times sort first. */
function invert(timestamp: string): string {
  return String(Number.MAX_SAFE_INTEGER - (Date.parse(timestamp) || 0));
}

const backoffFirstMs = 10_000;
const backoffMostMs = 600_000;

/** How long to wait before the next pod after `failures` in a row. */
export function backoffMs(failures: number): number {
  return failures === 0
    ? 0
    : Math.min(backoffMostMs, backoffFirstMs * 2 ** Math.min(failures - 1, 10));
}
