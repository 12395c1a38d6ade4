/**
 * Counting finished pods exactly once, pure.
 *
 * Holds  a finished pod is counted once, also when steps are retried: its uid is first recorded as
 *        uncounted in the status, then the tracking finalizer is removed, and only when the cache shows
 *        the pod without it (or deleted) the uid moves into the counter. Each step is safe to repeat.
 * Bounds `uncountedMax` pods a round, so that the status stays small; the rest follow in later rounds.
 * After  KEP-2307.
 */
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { failureVerdict, isPodFailed } from "./failure-policy.ts";
import {
  countOf,
  formatIndexes,
  hasIndex,
  indexesOf,
  noIndexes,
  parseIndexes,
  union,
} from "./indexes.ts";
import type { Indexes } from "./indexes.ts";
import { indexOfPod, isTracked } from "./tracked.ts";

/** Upstream's MaxUncountedPods: 500 uids are 20 KB. */
export const uncountedMax = 500;

export interface Tally {
  /** From the status: pods that are counted permanently. */
  readonly succeeded: number;
  readonly failed: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** Completed indexes for the status; empty unless the Job is Indexed. */
  readonly completed: Indexes;
  /** Completed indexes, including those of pods not counted yet. */
  readonly seen: Indexes;
  /** Counts including pods not counted yet; decisions are based on these. */
  readonly total: { readonly succeeded: number; readonly failed: number };
  /** Pods that failed since the last status, for the backoff. */
  readonly newlyFailed: readonly Pod[];
  readonly newlySucceeded: readonly Pod[];
  /** Pods whose finalizer may be removed once the status with this tally is written. */
  readonly release: readonly Pod[];
  /** Whether some pods did not fit into this round. */
  readonly hasMore: boolean;
}

export interface TallyOptions {
  /** How the Job ends. `deleted`: the Job is being deleted, so all pods are released. */
  readonly ending: "none" | "Complete" | "Failed" | "deleted";
  /** Uids of pods that keep their finalizer for now (per-index.ts). */
  readonly held: ReadonlySet<string>;
}

export const goingOn: TallyOptions = { ending: "none", held: new Set() };

/** Uids and indexes that this round records, and pods that it releases; collected pod by pod. */
interface Draft {
  readonly succeeded: string[];
  readonly failed: string[];
  readonly indexes: Set<number>;
  readonly release: Pod[];
}

export function tallyPods(job: Job, pods: readonly Pod[], options: TallyOptions): Tally {
  const tracked = pods.filter(isTracked);
  const { waiting, listed } = readStatus(job, tracked);
  const known = new Set([...waiting.succeeded, ...waiting.failed]);
  const fresh = freshPods(job, tracked, known);
  const before = findCompletedIndexes(job);
  const { draft, more } = draftPods({ job, options, before, known }, tracked, waiting);
  const completed = union(before, indexesOf(draft.indexes));
  const seen = union(before, indexesOf(fresh.succeeded.flatMap((pod) => indexOfPod(pod) ?? [])));
  return {
    // For an Indexed Job the indexes are the count, so uids are not listed.
    succeeded: isIndexed(job) ? countOf(completed) : listed.succeeded - waiting.succeeded.length,
    failed: listed.failed - waiting.failed.length,
    uncounted: { succeeded: draft.succeeded, failed: draft.failed },
    completed,
    seen,
    total: {
      succeeded: isIndexed(job) ? countOf(seen) : listed.succeeded + fresh.succeeded.length,
      failed: listed.failed + fresh.failed.filter((pod) => isCountedFailure(job, pod)).length,
    },
    newlyFailed: fresh.failed,
    newlySucceeded: fresh.succeeded,
    release: draft.release,
    hasMore: more,
  };
}

/**
 * `listed`: pods in the counters of the status or among its uncounted uids. `waiting`: the uids of
 * those that still have the finalizer; the other uncounted pods move into the counters now.
 */
function readStatus({ status = {} }: Job, tracked: readonly Pod[]) {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const uids = new Set(tracked.map(uidOf));
  return {
    listed: {
      succeeded: (status.succeeded ?? 0) + succeeded.length,
      failed: (status.failed ?? 0) + failed.length,
    },
    waiting: {
      succeeded: succeeded.filter((uid) => uids.has(uid)),
      failed: failed.filter((uid) => uids.has(uid)),
    },
  };
}

export function isIndexed(job: Job): boolean {
  return job.spec?.completionMode === "Indexed";
}

function findCompletedIndexes(job: Job): Indexes {
  return isIndexed(job)
    ? parseIndexes(job.status?.completedIndexes, job.spec?.completions ?? 0)
    : noIndexes;
}

/** Ended pods that the status does not list; for an Indexed Job, those with a valid index. */
function freshPods(job: Job, tracked: readonly Pod[], known: ReadonlySet<string>) {
  const ended = tracked.filter((pod) => !known.has(uidOf(pod)) && hasValidIndex(job, pod));
  const isSuccess = (pod: Pod): boolean => pod.status?.phase === "Succeeded";
  return {
    succeeded: ended.filter(isSuccess),
    failed: ended.filter((pod) => !isSuccess(pod) && isPodFailed(job, pod)),
  };
}

function hasValidIndex(job: Job, pod: Pod): boolean {
  if (!isIndexed(job)) return true;
  const index = indexOfPod(pod);
  return index !== undefined && index < (job.spec?.completions ?? 0);
}

interface Round {
  readonly job: Job;
  readonly options: TallyOptions;
  readonly before: Indexes;
  /** Uids listed in the status. */
  readonly known: ReadonlySet<string>;
}

/** `more`: the limit was reached. */
function draftPods(
  round: Round,
  tracked: readonly Pod[],
  waiting: Tally["uncounted"],
): { readonly draft: Draft; readonly more: boolean } {
  const { succeeded, failed } = waiting;
  const draft: Draft = {
    succeeded: [...succeeded],
    failed: [...failed],
    indexes: new Set(),
    release: [],
  };
  for (const pod of tracked) {
    if (!mayRelease(round.job, pod, round.options)) continue;
    const isKnown = round.known.has(uidOf(pod));
    if (!isKnown && sizeOf(draft) >= uncountedMax) return { draft, more: true };
    draft.release.push(pod);
    if (!isKnown) draftPod(round, pod, draft);
  }
  return { draft, more: false };
}

function sizeOf({ succeeded, failed, indexes }: Draft): number {
  return succeeded.length + failed.length + indexes.size;
}

function draftPod({ job, options, before }: Round, pod: Pod, draft: Draft): void {
  if (!hasValidIndex(job, pod)) return;
  if (pod.status?.phase === "Succeeded") {
    const index = indexOfPod(pod);
    if (!isIndexed(job)) draft.succeeded.push(uidOf(pod));
    else if (index !== undefined && !hasIndex(before, index)) draft.indexes.add(index);
    return;
  }
  // When a Job fails, every pod without success counts as failed.
  const counts = isPodFailed(job, pod) || options.ending === "Failed";
  if (counts && isCountedFailure(job, pod)) draft.failed.push(uidOf(pod));
}

function isCountedFailure(job: Job, pod: Pod): boolean {
  return failureVerdict(job, pod).action !== "Ignore";
}

function mayRelease(job: Job, pod: Pod, { ending, held }: TallyOptions): boolean {
  if (ending !== "none" || pod.status?.phase === "Succeeded") return true;
  return isPodFailed(job, pod) && !held.has(uidOf(pod));
}

export function tallyStatus(
  job: Job,
  tally: Tally,
): Pick<JobStatus, "succeeded" | "failed" | "uncountedTerminatedPods" | "completedIndexes"> {
  const { succeeded, failed } = tally.uncounted;
  const completed = formatIndexes(tally.completed);
  return {
    ...(tally.succeeded === 0 ? {} : { succeeded: tally.succeeded }),
    ...(tally.failed === 0 ? {} : { failed: tally.failed }),
    uncountedTerminatedPods: {
      ...(succeeded.length === 0 ? {} : { succeeded }),
      ...(failed.length === 0 ? {} : { failed }),
    },
    ...(isIndexed(job) && completed !== "" ? { completedIndexes: completed } : {}),
  };
}

function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? "";
}
