/** What a plan asks for. */
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
      /** For whom; none when the group is below its minimum. */
      readonly pods: readonly PodInfo[];
    }
  /** Nodes that were promised and did not come. `delta` is negative. */
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
      /** To be evicted first. */
      readonly pods: readonly PodInfo[];
      readonly utilization: number;
    }
  /** The soft taint of nodes that are unneeded. */
  | { readonly kind: "mark" | "unmark"; readonly node: Node };

/** Pods that no group would help, and why. */
export interface Unhelped {
  readonly info: PodInfo;
  readonly reasons: ReadonlyMap<string, number>;
}
