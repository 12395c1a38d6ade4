/**
 * Queueing hints: the events of a cluster, and a plugin's answer whether an event may let a Pod fit that the plugin
 * refused. Upstream's QueueingHintFn.
 */
import type { PodInfo } from "./pod-info.ts";

export type ClusterEvent =
  /** A node was added, or its capacity, labels or taints changed. */
  | { readonly kind: "node"; readonly slot: number; readonly isStatic: boolean }
  | { readonly kind: "node-gone" }
  /** A placed Pod left its node, shrank, or is being deleted. */
  | { readonly kind: "pod-gone"; readonly slot: number | undefined }
  | { readonly kind: "pod-placed"; readonly info: PodInfo }
  /** `claims`: changed claims as `namespace/name`. Absent: volumes, classes or similar objects changed. */
  | { readonly kind: "volumes"; readonly claims?: ReadonlySet<string> }
  /**
   * `claims`: the claims whose status changed, as `namespace/name`. Absent: devices were released or published, or
   * classes changed.
   */
  | {
      readonly kind: "devices";
      readonly claims?: ReadonlySet<string>;
      readonly hasNewClasses?: true;
    }
  | { readonly kind: "namespaces" };

/**
 * Whether an event may let a Pod fit that the plugin refused. A wrong "queue" costs one try, a wrong
 * "skip" costs the Pod up to five minutes: when in doubt, "queue". "queue-if-fits" runs all filters on
 * the event's node first: it is "skip" for an event without one, and when a plugin refuses that refused the Pod before.
 */
export type Hint = "queue" | "queue-if-fits" | "skip";

/** Hint of plugins that read only Node objects: only a change of that node can help. */
export function hintByNode(event: ClusterEvent): Hint {
  return event.kind === "node" ? "queue-if-fits" : "skip";
}

/** Upstream's event names for metric labels. One event here may stand for several upstream events. */
export const eventName: Readonly<Record<ClusterEvent["kind"], string>> = {
  node: "NodeUpdate",
  "node-gone": "NodeDelete",
  "pod-gone": "AssignedPodDelete",
  "pod-placed": "AssignedPodAdd",
  volumes: "PersistentVolumeClaimUpdate",
  devices: "ResourceClaimUpdate",
  namespaces: "NamespaceUpdate",
};
