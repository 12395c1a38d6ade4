/**
 * One loop of the autoscaler as a function: what the provider and the API show goes in, what is to be done comes out.
 * It changes nothing but the book; the cluster is as before when it returns.
 */
import type { Node } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";
import type { Random } from "#platform/random.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Action, Unhelped } from "./action.ts";
import type { Book } from "./book.ts";
import { Budgets, verdictOn } from "./drainable.ts";
import { type GroupHealth, type Health, isNodeReady, lookAtGroups } from "./group-health.ts";
import type { AutoscalerOptions } from "./options.ts";
import { waitingPods } from "./pending.ts";
import { planScaleDown, type ScaleDown } from "./scale-down.ts";
import { planScaleUp } from "./scale-up.ts";
import type { Snapshot } from "./snapshot.ts";
import { isBeingDeleted } from "./taints.ts";

export interface Plan {
  readonly actions: readonly Action[];
  readonly health: Health;
  readonly isHealthy: boolean;
  readonly unschedulable: number;
  readonly unhelped: readonly Unhelped[];
  readonly hasReachedNodesTotal: boolean;
  readonly scaleDown: ScaleDown;
}

interface PlanDeps {
  readonly snapshot: Snapshot;
  readonly book: Book;
  readonly options: AutoscalerOptions;
  readonly random: Random;
}

const noScaleDown: ScaleDown = {
  actions: [],
  unneeded: new Set(),
  unremovable: new Map(),
  isInCooldown: false,
};

export function plan(deps: PlanDeps): Plan {
  const { snapshot, book, options } = deps;
  book.forget(snapshot);
  const health = lookAtGroups(snapshot, book, options);
  const isHealthy = isClusterHealthy(health, options);
  if (!isHealthy) {
    const nothing = { unschedulable: 0, unhelped: [], hasReachedNodesTotal: false };
    return { actions: health.actions, health, isHealthy, ...nothing, scaleDown: noScaleDown };
  }
  const { cluster, nowMs } = snapshot;
  const whatIf = cluster.what();
  try {
    const { pods, nominated } = waitingPods(cluster.pending, nowMs, options);
    for (const info of nominated) {
      const node = info.pod.status?.nominatedNodeName ?? "";
      if (cluster.cache.nodes.slotOf(node) !== undefined) whatIf.assume(info, node);
    }
    const expired = expiredNode(deps, health);
    const { mark } = whatIf;
    for (const info of expired?.pods ?? []) whatIf.lift(info, expired?.name ?? "");
    const evictees = expired?.pods ?? [];
    const closed = expired === undefined ? undefined : cluster.cache.nodes.slotOf(expired.name);
    const up = planScaleUp(deps, health, [...pods, ...evictees], closed);
    whatIf.undo(mark);
    const { nodes } = cluster.cache;
    const waitsForNodes = [...up.needed].some((name) => nodes.slotOf(name) === undefined);
    const isReady = up.unschedulable === 0 && up.actions.length === 0 && !waitsForNodes;
    const replaced = expired !== undefined && isReady ? replacement(expired) : [];
    // A Pod that no group helps must not keep every node forever.
    const unhelped = new Set(up.unhelped.map(({ info }) => info.uid));
    const hasWaiting = pods.some(({ uid }) => !unhelped.has(uid));
    const down =
      options.scaleDownEnabled && up.actions.length === 0
        ? planScaleDown(deps, health, { needed: up.needed, hasWaiting })
        : noScaleDown;
    const isGoing = replaced.some(({ kind }) => kind === "remove");
    const downActions = isGoing
      ? down.actions.filter(({ kind }) => kind !== "remove")
      : down.actions;
    return {
      actions: [...health.actions, ...up.actions, ...replaced, ...downActions],
      health,
      isHealthy,
      unschedulable: up.unschedulable,
      unhelped: up.unhelped.filter(({ info }) => !evictees.includes(info)),
      hasReachedNodesTotal: up.hasReachedNodesTotal,
      scaleDown: down,
    };
  } finally {
    whatIf.undo();
  }
}

/** Returns false if too large a share of nodes is not ready. As upstream, no action is taken then, because another fault is likely. */
function isClusterHealthy(
  { readyNodes, unreadyNodes }: Health,
  options: AutoscalerOptions,
): boolean {
  const total = readyNodes + unreadyNodes;
  if (unreadyNodes <= options.okTotalUnreadyCount) return true;
  return unreadyNodes <= (total * options.maxTotalUnreadyPercentage) / 100;
}

interface Expired {
  readonly name: string;
  readonly node: Node;
  readonly health: GroupHealth;
  readonly pods: readonly PodInfo[];
}

/** Returns the oldest expired node whose Pods may move. Only one node is replaced at a time. */
function expiredNode({ snapshot, book, options }: PlanDeps, health: Health): Expired | undefined {
  const { expireAfterMs } = options;
  if (expireAfterMs === undefined || book.removing.size > 0) return undefined;
  const { cluster, nowMs } = snapshot;
  const aged = health.groups.flatMap((one) =>
    one.group.isOwn
      ? one.nodes.map((node) => ({ node, health: one, bornMs: bornMs(node, nowMs) }))
      : [],
  );
  const due = aged
    .filter((one) => nowMs - one.bornMs >= expireAfterMs && isNodeReady(one.node))
    .filter(({ node }) => !isBeingDeleted(node))
    .toSorted((a, b) => a.bornMs - b.bornMs);
  for (const { node, health: own } of due) {
    const name = node.metadata?.name ?? "";
    const slot = cluster.cache.nodes.slotOf(name);
    if (slot === undefined) continue;
    const budgets = new Budgets(snapshot.budgets);
    const verdicts = [...cluster.cache.podsOn(slot)].map(
      (info) => [info, verdictOn(info, budgets, options).kind] as const,
    );
    if (verdicts.some(([, kind]) => kind === "blocks")) continue;
    const pods = verdicts.filter(([, kind]) => kind === "moves").map(([info]) => info);
    if (budgets.take(pods) === undefined) return { name, node, health: own, pods };
  }
  return undefined;
}

function bornMs({ metadata }: Node, nowMs: number): number {
  return parseTime(metadata?.creationTimestamp ?? "") ?? nowMs;
}

/**
 * A replacement comes first: for Pods without another place on a node that is there the plan grows a group, at its minimum
 * the group itself.
 */
function replacement({ node, pods, health }: Expired): readonly Action[] {
  const { id, min, max, target } = health.group;
  if (target - 1 >= min) {
    return [{ kind: "remove", group: id, node, reason: "expired", pods, utilization: 0 }];
  }
  if (target >= max || health.upcoming > 0) return [];
  return [{ kind: "increase", group: id, delta: 1, from: target, max, pods: [] }];
}
