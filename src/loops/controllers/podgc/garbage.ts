/** Determines pods that no other controller deletes: the rules of upstream's pod garbage collector. Pure. */
import type { Node, Pod } from "#api/gen/types.ts";
import { isFinished } from "../pods/pod.ts";

export interface PodGarbage {
  readonly pod: Pod;
  /** Condition DisruptionTarget for a pod that was running. */
  readonly disruption?: { readonly reason: string; readonly message: string };
}

export interface GarbageRound {
  readonly pods: readonly Pod[];
  /** By name. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** Names of nodes that pods are bound to and that do not exist. */
  readonly gone: ReadonlySet<string>;
  /** Maximum number of finished pods. */
  readonly terminatedMax: number;
}

const outOfService = "node.kubernetes.io/out-of-service";

/** All pods to delete, in order; a pod may occur for two reasons. */
export function planGarbage({
  pods,
  nodes,
  gone,
  terminatedMax,
}: GarbageRound): readonly PodGarbage[] {
  return [
    ...findTerminatedBeyond(pods, terminatedMax),
    ...findUnscheduledTerminating(pods),
    ...findTerminatingOutOfService(pods, nodes),
    ...findOrphaned(pods, gone),
  ];
}

/** Finished pods beyond `threshold`, evicted ones first, then the oldest; 0: none. */
export function findTerminatedBeyond(
  pods: readonly Pod[],
  threshold: number,
): readonly PodGarbage[] {
  if (threshold <= 0) return [];
  const finished = pods.filter(
    (pod) => isFinished(pod) && pod.metadata?.deletionTimestamp === undefined,
  );
  const excess = finished.length - threshold;
  if (excess <= 0) return [];
  return finished
    .toSorted((a, b) => Number(isEvicted(b)) - Number(isEvicted(a)) || oldestFirst(a, b))
    .slice(0, excess)
    .map((pod) => ({ pod }));
}

/** Pods being deleted that were never bound, so that no kubelet will finish them. */
export function findUnscheduledTerminating(pods: readonly Pod[]): readonly PodGarbage[] {
  return pods
    .filter((pod) => pod.metadata?.deletionTimestamp !== undefined && nodeOf(pod) === "")
    .map((pod) => ({ pod }));
}

/** Pods being deleted on a node that an operator marked as out of service. */
export function findTerminatingOutOfService(
  pods: readonly Pod[],
  nodes: ReadonlyMap<string, Node>,
): readonly PodGarbage[] {
  return pods
    .filter((pod) => {
      const node = nodes.get(nodeOf(pod));
      if (pod.metadata?.deletionTimestamp === undefined || node === undefined) return false;
      const ready =
        node.status?.conditions?.find((condition) => condition.type === "Ready")?.status === "True";
      return !ready && (node.spec?.taints ?? []).some((taint) => taint.key === outOfService);
    })
    .map((pod) => ({ pod }));
}

/** Pods bound to a node in `gone`, which according to the server, after a quarantine, does not exist. */
export function findOrphaned(
  pods: readonly Pod[],
  gone: ReadonlySet<string>,
): readonly PodGarbage[] {
  return pods
    .filter((pod) => gone.has(nodeOf(pod)))
    .map((pod) => ({
      pod,
      disruption: { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" },
    }));
}

export function nodeOf(pod: Pod): string {
  return pod.spec?.nodeName ?? "";
}

function isEvicted(pod: Pod): boolean {
  return pod.status?.phase === "Failed" && pod.status.reason === "Evicted";
}

function oldestFirst(a: Pod, b: Pod): number {
  const [bornA = "", bornB = ""] = [a.metadata?.creationTimestamp, b.metadata?.creationTimestamp];
  if (bornA !== bornB) return bornA < bornB ? -1 : 1;
  return (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1;
}
