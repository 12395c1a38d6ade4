/**
 * One reconcile of a Job, pure: its input, the pods that it creates and deletes, and its final report.
 *
 * A round has three steps: `gatherRound`, then `planPods` is carried out, then `concludeRound`.
 */
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { isActive, isReady, isTerminating } from "../pods/pod.ts";
import { nextRecord, remainingMs, type BackoffRecord } from "./backoff.ts";
import { noIndexes, type Indexes } from "./indexes.ts";
import {
  countAnnotations,
  dueIndexes,
  findFailedIndexes,
  hasLimitPerIndex,
  heldPods,
} from "./per-index.ts";
import * as plan from "./plan.ts";
import type { PodIndex } from "./pod.ts";
import { jobStatus } from "./status.ts";
import { goingOn, isIndexed, tallyPods, type Tally } from "./tally.ts";

/** Maximum pods created or deleted per reconcile: upstream's MaxPodCreateDeletePerSync. */
const burst = 500;

export interface Round {
  readonly key: string;
  readonly job: Job;
  /** Pods controlled by the Job. */
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  /** Counts before this round creates or deletes pods. */
  readonly tally: Tally;
  /** Failed indexes; undefined without spec.backoffLimitPerIndex. */
  readonly failed: Indexes | undefined;
  /** By index: the failed pod that keeps its finalizer until it has a replacement. */
  readonly held: ReadonlyMap<number, Pod>;
  readonly backoff: BackoffRecord | undefined;
  readonly nowMs: number;
}

export interface PodPlan {
  /** Pods to delete with their finalizer, which is removed after they are counted. */
  readonly end: readonly Pod[];
  /** Surplus pods to delete without their finalizer, so that they are not counted. */
  readonly drop: readonly Pod[];
  /** Pods to create; undefined: a pod without index. */
  readonly create: readonly (PodIndex | undefined)[];
  /** Time until the backoff allows the next pod; undefined: none waits. */
  readonly waitMs: number | undefined;
}

/** The part of the plan that was carried out. */
export interface Outcome {
  readonly createdCount: number;
  readonly deleted: ReadonlySet<Pod>;
  readonly error: unknown;
}

interface Conclusion {
  readonly status: JobStatus;
  /** Pods whose finalizer is removed once the status is written. */
  readonly release: readonly Pod[];
  /** Time until the reconcile is repeated; undefined: only an event can change anything. */
  readonly requeueAfterMs: number | undefined;
}

export function gatherRound(
  known: Pick<Round, "key" | "job" | "pods" | "nowMs">,
  record: BackoffRecord | undefined,
): Round {
  const { job, pods } = known;
  const tally = tallyPods(job, pods, goingOn);
  const isLimited = isIndexed(job) && hasLimitPerIndex(job);
  const failed = isLimited ? findFailedIndexes(job, pods) : undefined;
  const held: Round["held"] =
    failed === undefined ? new Map() : heldPods(job, pods, { completed: tally.seen, failed });
  const backoff = nextRecord(record, tally.newlySucceeded, tally.newlyFailed);
  return { ...known, active: pods.filter(isActive), tally, failed, held, backoff };
}

/** How the Job ends before this round creates or deletes pods; undefined: it continues. */
export function findEnding({ job, pods, tally, failed, nowMs }: Round): plan.Ending | undefined {
  return plan.endingOf(job, pods, tally, { failed: failed ?? noIndexes, nowMs });
}

const noPods: PodPlan = { end: [], drop: [], create: [], waitMs: undefined };

/** Either ends all active pods, or deletes the surplus, or creates missing pods. */
export function planPods(round: Round, ending: plan.Ending | undefined): PodPlan {
  const { job, pods, active, tally } = round;
  if (ending !== undefined) return { ...noPods, end: active };
  if (isDeleting(job)) return noPods;
  const wanted = plan.countWantedActive(job, active.length, tally);
  const surplus = plan.surplusPods(job, active, active.length - wanted);
  if (surplus.length > 0) return { ...noPods, drop: surplus.slice(0, burst) };
  const missing = plan.missingPods(job, pods, { active: active.length, wanted });
  return missing > 0 ? planCreates(round, Math.min(missing, burst)) : noPods;
}

function planCreates(round: Round, count: number): PodPlan {
  const { job, nowMs } = round;
  const waitMs = hasLimitPerIndex(job) ? 0 : remainingMs(round.backoff, nowMs);
  if (waitMs > 0) return { ...noPods, waitMs };
  if (isIndexed(job)) return planIndexes(round, count);
  return { ...noPods, create: Array.from({ length: count }, () => undefined) };
}

function planIndexes({ job, pods, tally, failed, held, nowMs }: Round, count: number): PodPlan {
  const over = [tally.seen, failed ?? noIndexes];
  const free = plan.indexesToCreate(job, pods, over, count);
  const { due, waitMs } = dueIndexes(free, held, nowMs);
  const annotationsOf = (index: number): PodIndex["annotations"] =>
    hasLimitPerIndex(job) ? countAnnotations(job, held.get(index)) : {};
  const create = due.map((index) => ({ index, annotations: annotationsOf(index) }));
  return { ...noPods, create, waitMs };
}

/** An ending is left to the next round if not all pods could be deleted. */
export function concludeRound(
  round: Round,
  planned: { readonly ending: plan.Ending | undefined; readonly waitMs: number | undefined },
  outcome: Outcome,
): Conclusion {
  const { job, nowMs } = round;
  const counts = countAfter(round, outcome);
  const settled = outcome.error === undefined ? planned.ending : undefined;
  const ending = settled ?? plan.completion(job, round.tally, counts.active);
  const tally = tallyAfter(round, ending);
  const managed = !isDeleting(job) && outcome.error === undefined;
  const failedIndexes = round.failed;
  const now = formatTime(nowMs);
  const status = jobStatus({ job, tally, ending, failedIndexes, counts, managed, now });
  const deadlineMs = ending === undefined ? plan.deadlineInMs(job, nowMs) : undefined;
  return { status, release: tally.release, requeueAfterMs: soonest(planned.waitMs, deadlineMs) };
}

/** The pods to count and to release, given how the Job ends. */
function tallyAfter({ job, pods, held }: Round, ending: plan.Ending | undefined): Tally {
  const uids = [...held.values()].map((pod) => pod.metadata?.uid ?? "");
  const type = ending?.type ?? (isDeleting(job) ? "deleted" : "none");
  return tallyPods(job, pods, { ending: type, held: new Set(uids) });
}

function countAfter({ pods, active }: Round, { createdCount, deleted }: Outcome) {
  return {
    active: active.length + createdCount - deleted.size,
    ready: active.filter((pod) => !deleted.has(pod) && isReady(pod)).length,
    terminating: pods.filter(isTerminating).length + deleted.size,
  };
}

function soonest(waitMs: number | undefined, deadlineMs: number | undefined): number | undefined {
  const deadline = deadlineMs === undefined ? Infinity : Math.max(0, deadlineMs);
  const sooner = Math.min(waitMs ?? Infinity, deadline);
  return Number.isFinite(sooner) ? sooner : undefined;
}

function isDeleting(job: Job): boolean {
  return job.metadata?.deletionTimestamp !== undefined;
}
