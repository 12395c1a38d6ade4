/** What a DaemonSet does next, pure: pods to make and delete, and its status. */
import type { DaemonSet, DaemonSetStatus, Node, Pod } from "#api/gen/types.ts";
import { isAvailable, isReady } from "../shared/pod.ts";
import { revisionHashLabel } from "../shared/revisions.ts";
import { eligibility, targetNode } from "./eligible.ts";

export interface DaemonInput {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** Pods the set controls. */
  readonly pods: readonly Pod[];
  /** Hash of the present template. */
  readonly hash: string;
  readonly nowMs: number;
}

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Among `remove`: pods that failed by themselves, to be retried with backoff. */
  readonly failed: readonly Pod[];
}

export function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    const there = byNode.get(node);
    if (there === undefined) byNode.set(node, [pod]);
    else there.push(pod);
  }
  return byNode;
}

export function planDaemons(input: DaemonInput): DaemonPlan {
  const { set, nodes } = input;
  const byNode = podsByNode(input.pods);
  const create: string[] = [];
  const remove: Pod[] = [];
  const failed: Pod[] = [];
  for (const node of nodes) {
    const name = node.metadata?.name ?? "";
    const { shouldRun, shouldContinue } = eligibility(set, node);
    const here = (byNode.get(name) ?? []).filter(isLiving);
    if (here.length === 0 && (byNode.get(name) ?? []).length === 0 && shouldRun) create.push(name);
    if (!shouldContinue) remove.push(...here);
    else keepOne(here, remove, failed);
  }
  const known = new Set(nodes.map((node) => node.metadata?.name ?? ""));
  for (const [node, pods] of byNode) {
    // Meant for a node that is gone and never bound: nobody else will delete it.
    if (!known.has(node))
      remove.push(...pods.filter((pod) => isLiving(pod) && (pod.spec?.nodeName ?? "") === ""));
  }
  return { create, remove, failed };
}

/** Of several pods on a node the oldest stays; failed ones go, to be made anew. */
function keepOne(here: readonly Pod[], remove: Pod[], failed: Pod[]): void {
  const broken = here.filter(
    (pod) => pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded",
  );
  failed.push(...broken);
  remove.push(...broken);
  const running = here.filter((pod) => !broken.includes(pod));
  remove.push(
    ...running
      .toSorted(oldestFirst)
      .slice(1)
      .filter((pod) => !isSurge(running, pod)),
  );
}

/** During a surge update a node holds an old and a new pod on purpose. */
function isSurge(running: readonly Pod[], pod: Pod): boolean {
  const hashes = new Set(running.map((other) => other.metadata?.labels?.[revisionHashLabel]));
  return running.length === 2 && hashes.size === 2 && running.includes(pod);
}

function isLiving(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp === undefined;
}

function oldestFirst(a: Pod, b: Pod): number {
  return (a.metadata?.creationTimestamp ?? "") < (b.metadata?.creationTimestamp ?? "") ? -1 : 1;
}

/** The next pods to replace in a rolling update, within maxUnavailable or maxSurge. */
export function planUpdate(input: DaemonInput): DaemonPlan {
  const { set, nowMs } = input;
  if (set.spec?.updateStrategy?.type === "OnDelete") return { create: [], remove: [], failed: [] };
  const wanted = input.nodes.filter((node) => eligibility(set, node).shouldRun);
  const rolling = set.spec?.updateStrategy?.rollingUpdate;
  const maxSurge = scaled(rolling?.maxSurge ?? 0, wanted.length);
  const maxUnavailable =
    maxSurge > 0 ? 0 : Math.max(1, scaled(rolling?.maxUnavailable ?? 1, wanted.length));
  const minReady = set.spec?.minReadySeconds ?? 0;
  const byNode = podsByNode(input.pods);
  const available = (pod: Pod): boolean => isLiving(pod) && isAvailable(pod, minReady, nowMs);
  const nodes = wanted.map((node) => {
    const name = node.metadata?.name ?? "";
    const pods = (byNode.get(name) ?? []).filter(isLiving);
    const fresh = pods.find((pod) => isOf(pod, input.hash));
    const old = pods.find((pod) => !isOf(pod, input.hash));
    return { name, pods, fresh, old };
  });
  if (maxSurge > 0) return planSurge(nodes, maxSurge, available);
  const unavailable = nodes.filter(({ pods }) => !pods.some(available)).length;
  const broken = nodes.flatMap(({ old, fresh }) =>
    old !== undefined && fresh === undefined && !available(old) ? [old] : [],
  );
  const good = nodes.flatMap(({ old, fresh }) =>
    old !== undefined && fresh === undefined && available(old) ? [old] : [],
  );
  const budget = Math.max(0, maxUnavailable - unavailable);
  return { create: [], remove: [...broken, ...good.slice(0, budget)], failed: [] };
}

interface NodePods {
  readonly name: string;
  readonly old: Pod | undefined;
  readonly fresh: Pod | undefined;
}

function planSurge(
  nodes: readonly NodePods[],
  maxSurge: number,
  available: (pod: Pod) => boolean,
): DaemonPlan {
  const remove = nodes.flatMap(({ old, fresh }) =>
    old !== undefined && fresh !== undefined && available(fresh) ? [old] : [],
  );
  const surging =
    nodes.filter(({ old, fresh }) => old !== undefined && fresh !== undefined).length -
    remove.length;
  const candidates = nodes.filter(({ old, fresh }) => old !== undefined && fresh === undefined);
  const create = candidates.slice(0, Math.max(0, maxSurge - surging)).map(({ name }) => name);
  return { create, remove, failed: [] };
}

function scaled(value: number | string, total: number): number {
  return typeof value === "number" ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100);
}

function isOf(pod: Pod, hash: string): boolean {
  return pod.metadata?.labels?.[revisionHashLabel] === hash;
}

export function daemonStatus(input: DaemonInput): DaemonSetStatus {
  const { set, nowMs } = input;
  const byNode = podsByNode(input.pods);
  const minReady = set.spec?.minReadySeconds ?? 0;
  const counts = { current: 0, misscheduled: 0, desired: 0, ready: 0, updated: 0, available: 0 };
  for (const node of input.nodes) {
    const pods = (byNode.get(node.metadata?.name ?? "") ?? []).filter(isLiving);
    if (!eligibility(set, node).shouldRun) {
      if (pods.length > 0) counts.misscheduled++;
      continue;
    }
    counts.desired++;
    if (pods.length === 0) continue;
    counts.current++;
    if (pods.some(isReady)) counts.ready++;
    if (pods.some((pod) => isAvailable(pod, minReady, nowMs))) counts.available++;
    if (pods.some((pod) => isOf(pod, input.hash))) counts.updated++;
  }
  const unavailable = counts.desired - counts.available;
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    observedGeneration: set.metadata?.generation ?? 0,
    ...(counts.updated === 0 ? {} : { updatedNumberScheduled: counts.updated }),
    ...(counts.available === 0 ? {} : { numberAvailable: counts.available }),
    ...(unavailable === 0 ? {} : { numberUnavailable: unavailable }),
  };
}
