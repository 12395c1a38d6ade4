/** Which pods nobody will ever clean up, pure: the rules of upstream's pod garbage collector. */
import type { Node, Pod } from "#api/gen/types.ts";

export interface PodGarbage {
  readonly pod: Pod;
  /** Set where the phase must become Failed before the delete; a condition DisruptionTarget goes with it. */
  readonly failed?: { readonly reason: string; readonly message: string };
}

const outOfService = "node.kubernetes.io/out-of-service";

/** Finished pods beyond `threshold`, oldest first; 0 keeps all. */
export function terminatedBeyond(pods: readonly Pod[], threshold: number): readonly PodGarbage[] {
  if (threshold <= 0) return [];
  const finished = pods.filter(
    (pod) => isFinished(pod) && pod.metadata?.deletionTimestamp === undefined,
  );
  const excess = finished.length - threshold;
  if (excess <= 0) return [];
  return finished
    .toSorted(oldestFirst)
    .slice(0, excess)
    .map((pod) => ({ pod }));
}

/** Being deleted without ever having been bound: no kubelet will finish them. */
export function unscheduledTerminating(pods: readonly Pod[]): readonly PodGarbage[] {
  return pods
    .filter((pod) => pod.metadata?.deletionTimestamp !== undefined && nodeOf(pod) === "")
    .map((pod) => ({
      pod,
      failed: { reason: "DeletionByPodGC", message: "PodGC: unscheduled and terminating" },
    }));
}

/** Being deleted on a node that an operator has declared out of service. */
export function terminatingOutOfService(
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

/** Bound to a node in `gone`: nodes that the server said, after a quarantine, do not exist. */
export function orphaned(pods: readonly Pod[], gone: ReadonlySet<string>): readonly PodGarbage[] {
  return pods
    .filter((pod) => gone.has(nodeOf(pod)))
    .map((pod) => ({
      pod,
      failed: { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" },
    }));
}

export function nodeOf(pod: Pod): string {
  return pod.spec?.nodeName ?? "";
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

function oldestFirst(a: Pod, b: Pod): number {
  return (a.metadata?.creationTimestamp ?? "") < (b.metadata?.creationTimestamp ?? "") ? -1 : 1;
}
