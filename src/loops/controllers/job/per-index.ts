/**
 * spec.backoffLimitPerIndex, pure: a limit of failures for each index of an Indexed Job.
 *
 * How  an annotation of a pod says how often its index has failed before. To preserve this count, the last failed pod
 *      of an index is *held*: it keeps the tracking finalizer until its replacement, with the count plus one, exists or
 *      none is wanted any more.
 * After KEP-3850.
 */
import type { Job, Pod } from "#api/gen/types.ts";
import { isActive } from "../pods/pod.ts";
import { endMs, remainingMs } from "./backoff.ts";
import { failureVerdict, isPodFailed } from "./failure-policy.ts";
import { hasIndex, indexesOf, parseIndexes, union, type Indexes } from "./indexes.ts";
import { indexOfPod, isTracked } from "./tracked.ts";

const failureCount = "batch.kubernetes.io/job-index-failure-count";
const ignoredFailureCount = "batch.kubernetes.io/job-index-ignored-failure-count";

export function hasLimitPerIndex(job: Job): boolean {
  return job.spec?.backoffLimitPerIndex !== undefined;
}

/** Failed indexes in the status, and those whose last allowed pod has failed since. */
export function findFailedIndexes(job: Job, pods: readonly Pod[]): Indexes {
  const completions = job.spec?.completions ?? 0;
  const failed = pods.flatMap((pod) => {
    const index = indexOfPod(pod);
    const valid = index !== undefined && index < completions;
    return valid && isTracked(pod) && isIndexFailed(job, pod) ? [index] : [];
  });
  return union(parseIndexes(job.status?.failedIndexes, completions), indexesOf(failed));
}

function isIndexFailed(job: Job, pod: Pod): boolean {
  if (!isPodFailed(job, pod)) return false;
  const { action } = failureVerdict(job, pod);
  if (action === "FailIndex") return true;
  return action !== "Ignore" && countOf(pod, failureCount) >= (job.spec?.backoffLimitPerIndex ?? 0);
}

/** By index: the failed pod that keeps its finalizer until it has a replacement. */
export function heldPods(
  job: Job,
  pods: readonly Pod[],
  over: { readonly completed: Indexes; readonly failed: Indexes },
): ReadonlyMap<number, Pod> {
  const held = new Map<number, Pod>();
  const active = new Set(pods.filter(isActive).map(indexOfPod));
  for (const pod of pods) {
    const index = indexOfPod(pod);
    if (index === undefined || index >= (job.spec?.completions ?? 0)) continue;
    if (!isTracked(pod) || !isPodFailed(job, pod) || active.has(index)) continue;
    if (hasIndex(over.completed, index) || hasIndex(over.failed, index)) continue;
    const other = held.get(index);
    if (other === undefined || isLater(pod, other)) held.set(index, pod);
  }
  return held;
}

function isLater(pod: Pod, other: Pod): boolean {
  return totalOf(other) <= totalOf(pod) && endMs(other) <= endMs(pod);
}

function totalOf(pod: Pod): number {
  return countOf(pod, failureCount) + countOf(pod, ignoredFailureCount);
}

function countOf(pod: Pod, annotation: string): number {
  const text = pod.metadata?.annotations?.[annotation] ?? "0";
  return /^\d{1,10}$/.test(text) ? Number(text) : 0;
}

/** Annotations of the pod that replaces `failed`, or of the first pod of its index. */
export function countAnnotations(
  job: Job,
  failed: Pod | undefined,
): Readonly<Record<string, string>> {
  if (failed === undefined) return { [failureCount]: "0" };
  const ignored = failureVerdict(job, failed).action === "Ignore";
  const counted = countOf(failed, failureCount) + (ignored ? 0 : 1);
  const uncounted = countOf(failed, ignoredFailureCount) + (ignored ? 1 : 0);
  return {
    [failureCount]: String(counted),
    ...(uncounted === 0 ? {} : { [ignoredFailureCount]: String(uncounted) }),
  };
}

/** The indexes whose backoff is over; if there are none, the time until the first. */
export function dueIndexes(
  indexes: readonly number[],
  held: ReadonlyMap<number, Pod>,
  nowMs: number,
): { readonly due: readonly number[]; readonly waitMs: number | undefined } {
  const waits = indexes.map((index) => {
    const failed = held.get(index);
    if (failed === undefined) return 0;
    return remainingMs({ failures: totalOf(failed) + 1, lastFailureMs: endMs(failed) }, nowMs);
  });
  const due = indexes.filter((_index, at) => waits[at] === 0);
  const soonest = Math.min(...waits);
  return { due, waitMs: due.length > 0 || waits.length === 0 ? undefined : soonest };
}
