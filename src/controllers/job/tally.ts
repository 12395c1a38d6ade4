/**
 * Counting finished pods exactly once, pure.
 *
 * Holds  a finished pod is counted once, whatever is retried: its uid is first written down as
 *        uncounted in the status, then it loses the tracking finalizer, and only when the cache shows
 *        it without (or gone) its uid moves into the counter. Each step is safe to repeat.
 * After  KEP-2307.
 */
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { formatIndexes, parseIndexes } from "./indexes.ts";

export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";

export interface Tally {
  readonly succeeded: number;
  readonly failed: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly completedIndexes: string | undefined;
  /** Counted now for the first time: they feed the backoff. */
  readonly newlyFailed: readonly Pod[];
  readonly newlySucceeded: readonly Pod[];
  /** Pods that may lose the finalizer once the status with this tally is written. */
  readonly release: readonly Pod[];
}

export function isTracked(pod: Pod): boolean {
  return (pod.metadata?.finalizers ?? []).includes(trackingFinalizer);
}

export function indexOfPod(pod: Pod): number | undefined {
  const text = pod.metadata?.annotations?.[indexAnnotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** `ignored` pods end without counting, as a pod failure policy may ask. */
export function tallyPods(job: Job, pods: readonly Pod[], ignored: (pod: Pod) => boolean): Tally {
  const old = job.status ?? {};
  const tracked = new Set(pods.filter(isTracked).map(uidOf));
  const pending = (uids: readonly string[] | undefined): string[] =>
    (uids ?? []).filter((uid) => tracked.has(uid));
  const settled = (uids: readonly string[] | undefined): number =>
    (uids ?? []).length - pending(uids).length;
  const uncounted = {
    succeeded: pending(old.uncountedTerminatedPods?.succeeded),
    failed: pending(old.uncountedTerminatedPods?.failed),
  };
  const isIndexed = job.spec?.completionMode === "Indexed";
  const completions = job.spec?.completions ?? 0;
  const indexes = isIndexed ? parseIndexes(old.completedIndexes, completions) : new Set<number>();
  const newlyFailed: Pod[] = [];
  const newlySucceeded: Pod[] = [];
  const release: Pod[] = [];
  for (const pod of pods.filter(isTracked)) {
    const outcome = outcomeOf(job, pod);
    if (outcome === undefined) continue;
    release.push(pod);
    const list = outcome === "succeeded" ? uncounted.succeeded : uncounted.failed;
    if (list.includes(uidOf(pod)) || (outcome === "failed" && ignored(pod))) continue;
    if (outcome === "failed") newlyFailed.push(pod);
    else {
      const index = indexOfPod(pod);
      if (isIndexed && (index === undefined || indexes.has(index))) continue;
      newlySucceeded.push(pod);
      if (isIndexed && index !== undefined) {
        indexes.add(index);
        continue;
      }
    }
    list.push(uidOf(pod));
  }
  return {
    // Of an indexed job the indexes are the count: no uid needs remembering.
    succeeded: isIndexed
      ? indexes.size
      : (old.succeeded ?? 0) + settled(old.uncountedTerminatedPods?.succeeded),
    failed: (old.failed ?? 0) + settled(old.uncountedTerminatedPods?.failed),
    uncounted,
    completedIndexes: isIndexed ? formatIndexes(indexes) : undefined,
    newlyFailed,
    newlySucceeded,
    release,
  };
}

/** Finished pods that the counters do or will include. */
export function total(tally: Tally): { readonly succeeded: number; readonly failed: number } {
  return {
    succeeded: tally.succeeded + tally.uncounted.succeeded.length,
    failed: tally.failed + tally.uncounted.failed.length,
  };
}

function outcomeOf(job: Job, pod: Pod): "succeeded" | "failed" | undefined {
  if (pod.status?.phase === "Succeeded") return "succeeded";
  if (pod.status?.phase === "Failed") return "failed";
  // A pod being deleted is a failed one, unless its replacement must wait until it has ended.
  const early =
    pod.metadata?.deletionTimestamp !== undefined && job.spec?.podReplacementPolicy !== "Failed";
  return early ? "failed" : undefined;
}

export function tallyStatus(
  tally: Tally,
): Pick<JobStatus, "succeeded" | "failed" | "uncountedTerminatedPods" | "completedIndexes"> {
  const { succeeded, failed } = tally.uncounted;
  return {
    ...(tally.succeeded === 0 ? {} : { succeeded: tally.succeeded }),
    ...(tally.failed === 0 ? {} : { failed: tally.failed }),
    uncountedTerminatedPods: {
      ...(succeeded.length === 0 ? {} : { succeeded }),
      ...(failed.length === 0 ? {} : { failed }),
    },
    ...(tally.completedIndexes === undefined || tally.completedIndexes === ""
      ? {}
      : { completedIndexes: tally.completedIndexes }),
  };
}

function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? "";
}
