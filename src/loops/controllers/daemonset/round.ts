/** The input of one reconcile of a DaemonSet, and the choice between its two plans. Pure. */
import type { ControllerRevision, Node, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { isActive, nextAvailableMs } from "../pods/pod.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import { planDaemons, planUpdate, type DaemonInput, type DaemonPlan } from "./plan.ts";

export interface Round extends DaemonInput {
  readonly key: string;
  readonly revisions: readonly ControllerRevision[];
}

interface RoundPlan extends DaemonPlan {
  /** Time until the next failed pod may be deleted; undefined: none waits. */
  readonly waitMs: number | undefined;
}

/**
 * An update continues only when there is nothing else to create or delete. `waitMsOf` says how long a
 * failed pod must wait before it is deleted.
 */
export function planRound(round: DaemonInput, waitMsOf: (pod: Pod) => number): RoundPlan {
  const plan = planDaemons(round);
  const waits = plan.failed.map(waitMsOf);
  const failed = plan.failed.filter((_pod, index) => waits[index] === 0);
  const waiting = waits.filter((wait) => wait > 0);
  const waitMs = waiting.length === 0 ? undefined : Math.min(...waiting);
  const due = { ...plan, failed };
  return { ...(isEmpty(due) ? planUpdate(round) : due), waitMs };
}

function isEmpty({ create, remove, failed, succeeded }: DaemonPlan): boolean {
  return [create, remove, failed, succeeded].every((list) => list.length === 0);
}

/** Time until the next pod becomes available or may be deleted, whichever is sooner. */
export function nextRoundMs(
  { set, pods }: DaemonInput,
  waitMs: number | undefined,
  nowMs: number,
): number | undefined {
  const minReadySeconds = set.spec?.minReadySeconds ?? 0;
  const availableMs = nextAvailableMs(pods.filter(isActive), minReadySeconds, nowMs);
  const soonest = Math.min(availableMs ?? Infinity, waitMs ?? Infinity);
  return Number.isFinite(soonest) ? soonest : undefined;
}

/** Revisions that the history limit must not remove. */
export function revisionsInUse({ revisions, pods, hash }: Round): ReadonlySet<string> {
  const hashes = new Set([hash, ...pods.map((pod) => hashOf(pod))]);
  const used = revisions.filter((revision) => hashes.has(hashOf(revision)));
  return new Set(used.map((revision) => revision.metadata?.name ?? ""));
}

function hashOf({ metadata }: Pod | ControllerRevision): string {
  return metadata?.labels?.[revisionHashLabel] ?? "";
}

/** False for a heartbeat, because only these fields determine whether a node is eligible. */
export function isNodeChanged(old: Node, node: Node): boolean {
  const fields = ({ metadata, spec }: Node): unknown => [metadata?.labels, spec?.taints];
  return !jsonEqual(fields(old), fields(node));
}
