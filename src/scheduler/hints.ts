/**
 * Requeue hints: whether something that happened may let a waiting Pod fit. A wrong yes costs a try,
 * a wrong no costs the Pod up to five minutes; so doubtful cases say yes.
 */
import type { Cache } from "./cache.ts";
import type { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import type { PodInfo } from "./pod-info.ts";
import type { QueuedPod } from "./queue.ts";
import type { PluginName } from "./reasons.ts";

export type ClusterEvent =
  /** A node was added, or its capacity, labels or taints changed. */
  | { readonly kind: "node"; readonly slot: number; readonly isStatic: boolean }
  | { readonly kind: "node-gone" }
  /** A placed Pod left its node, or shrank, or is on its way out. */
  | { readonly kind: "pod-gone"; readonly slot: number | undefined }
  | { readonly kind: "pod-placed"; readonly info: PodInfo }
  | { readonly kind: "volumes" }
  | { readonly kind: "namespaces" };

export function mayHelp(
  deps: { readonly cache: Cache; readonly decider: ScheduleAlgorithm },
  event: ClusterEvent,
  pod: QueuedPod,
): boolean {
  const was = (...names: PluginName[]): boolean => names.some((n) => pod.rejectors.has(n));
  switch (event.kind) {
    case "node":
      // A new domain changes what is balanced everywhere, not only on this node.
      if (event.isStatic && was("PodTopologySpread", "InterPodAffinity")) return true;
      return deps.decider.passes(pod.info, event.slot);
    case "node-gone":
      return was("PodTopologySpread");
    case "pod-gone":
      if (was("PodTopologySpread", "InterPodAffinity")) return true;
      if (event.slot === undefined || !was("NodeResourcesFit", "NodePorts")) return false;
      return deps.decider.passes(pod.info, event.slot);
    case "pod-placed":
      if (was("PodTopologySpread")) return true;
      return was("InterPodAffinity") && pod.info.affinity.length > 0;
    case "volumes":
      return was("VolumeBinding");
    case "namespaces":
      return was("InterPodAffinity");
    default:
      return event satisfies never;
  }
}
