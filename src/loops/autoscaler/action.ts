/** Actions that a plan requests. */
import type { Node } from "#api/gen/types.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";

export type Removal = "empty" | "underutilized" | "unready" | "expired";

export type Action =
  | {
      readonly kind: "increase";
      readonly group: string;
      readonly delta: number;
      readonly from: number;
      readonly max: number;
      /** Pods that need the nodes. Empty: the group is below its minimum. */
      readonly pods: readonly PodInfo[];
    }
  /** Lowers the target of a group whose promised nodes did not come. `delta` is negative. */
  | { readonly kind: "decrease"; readonly group: string; readonly delta: number }
  | {
      readonly kind: "delete-instances";
      readonly group: string;
      readonly ids: readonly string[];
    }
  | {
      readonly kind: "remove";
      readonly group: string;
      readonly node: Node;
      readonly reason: Removal;
      /** Pods to evict before the node is removed. */
      readonly pods: readonly PodInfo[];
      readonly utilization: number;
    }
  /** Sets or removes the soft taint of unneeded nodes. */
  | { readonly kind: "mark" | "unmark"; readonly node: Node };

/** A Pod that no group would help, and the reasons. */
export interface Unhelped {
  readonly info: PodInfo;
  readonly reasons: ReadonlyMap<string, number>;
}
