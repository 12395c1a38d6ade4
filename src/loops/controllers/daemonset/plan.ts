/**
 * Plans the next step of a DaemonSet, pure: pods to create and delete (`planDaemons`), pods to replace in an update
 * (`planUpdate`, when there is no other work), and its status.
 *
 * Holds  one pod per node that fits, two while a surge update has both; an update never makes more
 *        than maxUnavailable nodes unavailable, nor more than maxSurge nodes hold two.
 * After  upstream's daemon_controller.go and update.go.
 */
import type { DaemonSet, DaemonSetStatus, Node, Pod } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { roundUpPercent } from "../scaling/percent.ts";
import { isAvailable, isFinished, isGoing, isReady } from "../pods/pod.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import { eligibility, targetNode } from "./eligible.ts";

export interface DaemonInput {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** Pods controlled by the set. */
  readonly pods: readonly Pod[];
  /** Hash of the current template. */
  readonly hash: string;
  readonly nowMs: number;
}

export interface DaemonPlan {
  /** Names of nodes on which a pod is created. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Failed pods, which are deleted with a backoff. */
  readonly failed: readonly Pod[];
  /** Succeeded pods, which are deleted too, because daemons should not end. */
  readonly succeeded: readonly Pod[];
}

type PodsByNode = ReadonlyMap<string, readonly Pod[]>;

/** Ignores finished pods that are being deleted, and pods without a node. */
function podsByNode(pods: readonly Pod[]): PodsByNode {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (isFinished(pod) && isGoing(pod)) continue;
    const node = targetNode(pod);
    if (node === "") continue;
    const there = byNode.get(node);
    if (there === undefined) byNode.set(node, [pod]);
    else there.push(pod);
  }
  return byNode;
}

interface Draft extends DaemonPlan {
  readonly create: string[];
  readonly remove: Pod[];
  readonly failed: Pod[];
  readonly succeeded: Pod[];
}

const draft = (): Draft => ({ create: [], remove: [], failed: [], succeeded: [] });

export function planDaemons(input: DaemonInput): DaemonPlan {
  const byNode = podsByNode(input.pods);
  const plan = draft();
  for (const node of input.nodes) planNode(input, plan, node, byNode);
  const known = new Set(input.nodes.map((node) => node.metadata?.name ?? ""));
  for (const [node, pods] of byNode) {
    // The pod was never bound and its node is deleted; no other controller deletes it.
    if (known.has(node)) continue;
    plan.remove.push(...pods.filter((pod) => !isGoing(pod) && (pod.spec?.nodeName ?? "") === ""));
  }
  return plan;
}

function planNode(input: DaemonInput, plan: Draft, node: Node, byNode: PodsByNode): void {
  const name = node.metadata?.name ?? "";
  const here = byNode.get(name);
  const { shouldRun, shouldContinue } = eligibility(input.set, node);
  if (here === undefined) {
    if (shouldRun) plan.create.push(name);
    return;
  }
  const living = here.filter((pod) => !isGoing(pod));
  if (!shouldContinue) return void plan.remove.push(...living);
  plan.failed.push(...living.filter((pod) => pod.status?.phase === "Failed"));
  plan.succeeded.push(...living.filter((pod) => pod.status?.phase === "Succeeded"));
  const running = living.filter((pod) => !isFinished(pod)).toSorted(boundOldestFirst);
  if (!allowsSurge(input.set)) return void plan.remove.push(...running.slice(1));
  // With surge, a terminating pod is replaced before it is gone, so that the node stays served.
  if (running.length === 0 && shouldRun) plan.create.push(name);
  plan.remove.push(...surplusOfSurge(input, running));
}

/** With surge, the oldest pod of each revision stays, the old one until the new one is available. */
function surplusOfSurge(input: DaemonInput, running: readonly Pod[]): readonly Pod[] {
  const fresh = running.find((pod) => isOf(pod, input.hash));
  const old = running.find((pod) => !isOf(pod, input.hash));
  const surplus = running.filter((pod) => pod !== fresh && pod !== old);
  if (fresh === undefined || old === undefined) return surplus;
  return !isReady(old) || isUp(input, fresh) ? [...surplus, old] : surplus;
}

function boundOldestFirst(a: Pod, b: Pod): number {
  const bound = (pod: Pod): number => ((pod.spec?.nodeName ?? "") === "" ? 1 : 0);
  const born = (pod: Pod): string => pod.metadata?.creationTimestamp ?? "";
  if (bound(a) !== bound(b)) return bound(a) - bound(b);
  if (born(a) !== born(b)) return born(a) < born(b) ? -1 : 1;
  return (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1;
}

function allowsSurge(set: DaemonSet): boolean {
  return roundUpPercent(set.spec?.updateStrategy?.rollingUpdate?.maxSurge ?? 0, 1) > 0;
}

/** The pods of one node during an update, without those being deleted. */
interface NodePods {
  readonly name: string;
  readonly old: Pod | undefined;
  readonly fresh: Pod | undefined;
  /** There are several pods of one revision; planDaemons deletes the surplus first. */
  readonly crowded: boolean;
  readonly shouldRun: boolean;
}

/** The next pods to replace in a rolling update, within maxUnavailable or maxSurge. */
export function planUpdate(input: DaemonInput): DaemonPlan {
  const { set } = input;
  if (set.spec?.updateStrategy?.type === "OnDelete") return draft();
  const nodes = updateNodes(input);
  const desired = nodes.filter((node) => node.shouldRun).length;
  const rolling = set.spec?.updateStrategy?.rollingUpdate;
  const maxSurge = roundUpPercent(rolling?.maxSurge ?? 0, desired);
  const asked = roundUpPercent(rolling?.maxUnavailable ?? 1, desired);
  if (maxSurge > 0) return planSurge(input, nodes, { maxSurge, desired });
  return planReplace(input, nodes, asked === 0 && desired > 0 ? 1 : asked);
}

function updateNodes(input: DaemonInput): readonly NodePods[] {
  const byNode = podsByNode(input.pods);
  return input.nodes.flatMap((node) => {
    const name = node.metadata?.name ?? "";
    const { shouldRun } = eligibility(input.set, node);
    const here = byNode.get(name);
    if (here === undefined && !shouldRun) return [];
    const living = (here ?? []).filter((pod) => !isGoing(pod));
    const fresh = living.filter((pod) => isOf(pod, input.hash));
    const old = living.filter((pod) => !isOf(pod, input.hash));
    const crowded = fresh.length > 1 || old.length > 1;
    return [{ name, old: old[0], fresh: fresh[0], crowded, shouldRun }];
  });
}

function planReplace(
  input: DaemonInput,
  nodes: readonly NodePods[],
  maxUnavailable: number,
): DaemonPlan {
  const plan = draft();
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const { old, fresh, crowded } of nodes) {
    const only = old === undefined || fresh === undefined ? (fresh ?? old) : undefined;
    if (crowded || only === undefined || !isUp(input, only)) unavailable++;
    if (crowded || old === undefined || fresh !== undefined) continue;
    // An old pod that is not ready may always be replaced.
    if (isUp(input, old)) candidates.push(old);
    else plan.remove.push(old);
  }
  plan.remove.push(...candidates.slice(0, Math.max(0, maxUnavailable - unavailable)));
  return plan;
}

function planSurge(
  input: DaemonInput,
  nodes: readonly NodePods[],
  limits: { readonly maxSurge: number; readonly desired: number },
): DaemonPlan {
  const surge: Surge = { plan: draft(), candidates: [], leaving: [], surging: 0, available: 0 };
  for (const node of nodes) surgeNode(input, surge, node);
  const { plan, candidates, leaving, surging, available } = surge;
  plan.create.push(...candidates.slice(0, Math.max(0, limits.maxSurge - surging)));
  // Old pods on unsuitable nodes are deleted as far as enough others are available.
  plan.remove.push(...leaving.slice(0, Math.max(0, available - limits.desired)));
  return plan;
}

interface Surge {
  readonly plan: Draft;
  /** Nodes whose old pod is available, so that they may get a second pod. */
  readonly candidates: string[];
  /** Old available pods on nodes that have become unsuitable. */
  readonly leaving: Pod[];
  /** Number of nodes with two pods. */
  surging: number;
  /** Number of nodes with an available pod. */
  available: number;
}

function surgeNode(input: DaemonInput, surge: Surge, node: NodePods): void {
  const { name, old, fresh, crowded, shouldRun } = node;
  if (crowded) return void surge.surging++;
  const serving = old ?? fresh;
  if (serving !== undefined && isUp(input, serving)) surge.available++;
  if (old === undefined) return;
  if (fresh !== undefined) {
    if (isUp(input, fresh)) surge.plan.remove.push(old);
    else surge.surging++;
  } else if (isUp(input, old)) {
    if (shouldRun) surge.candidates.push(name);
    else surge.leaving.push(old);
  } else if (shouldRun) surge.plan.create.push(name);
  else surge.plan.remove.push(old);
}

function isUp({ set, nowMs }: DaemonInput, pod: Pod): boolean {
  return isAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
}

function isOf(pod: Pod, hash: string): boolean {
  return pod.metadata?.labels?.[revisionHashLabel] === hash;
}

export function daemonStatus(input: DaemonInput): DaemonSetStatus {
  const { metadata, status } = input.set;
  const counts = countNodes(input);
  const unavailable = counts.desired - counts.available;
  const { conditions, collisionCount } = status ?? {};
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    observedGeneration: metadata?.generation ?? 0,
    ...(counts.updated === 0 ? {} : { updatedNumberScheduled: counts.updated }),
    ...(counts.available === 0 ? {} : { numberAvailable: counts.available }),
    ...(unavailable === 0 ? {} : { numberUnavailable: unavailable }),
    ...given({ conditions, collisionCount }),
  };
}

/** Of several pods on a node the oldest bound one counts. */
function countNodes(input: DaemonInput) {
  const byNode = podsByNode(input.pods);
  const counts = { current: 0, misscheduled: 0, desired: 0, ready: 0, updated: 0, available: 0 };
  for (const node of input.nodes) {
    const pod = (byNode.get(node.metadata?.name ?? "") ?? []).toSorted(boundOldestFirst)[0];
    if (!eligibility(input.set, node).shouldRun) {
      if (pod !== undefined) counts.misscheduled++;
      continue;
    }
    counts.desired++;
    if (pod === undefined) continue;
    counts.current++;
    if (isReady(pod)) counts.ready++;
    if (isUp(input, pod)) counts.available++;
    if (isOf(pod, input.hash)) counts.updated++;
  }
  return counts;
}
