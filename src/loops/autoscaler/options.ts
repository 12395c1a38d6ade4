/** How the autoscaler decides: upstream's flags by their names, and those of our own. All given; `cmd` has the defaults. */
import type { GroupOptions } from "./snapshot.ts";

export const expanders = [
  "random",
  "most-pods",
  "least-waste",
  "least-nodes",
  "price",
  "priority",
] as const;
export type Expander = (typeof expanders)[number];

export interface Limits {
  readonly least: number;
  readonly most: number;
}

export interface AutoscalerOptions {
  readonly scanIntervalMs: number;
  /** Each chooses among what the one before left. */
  readonly expanders: readonly Expander[];
  readonly group: GroupOptions;
  readonly scaleDownEnabled: boolean;
  readonly scaleDownUnreadyEnabled: boolean;
  readonly scaleDownDelayAfterAddMs: number;
  readonly scaleDownDelayAfterDeleteMs: number;
  readonly scaleDownDelayAfterFailureMs: number;
  /** Nodes without Pods go after this time; upstream has no other than for all unneeded ones. */
  readonly emptyNodeMs: number | undefined;
  /** Nodes that are older are replaced, as Karpenter's expireAfter. */
  readonly expireAfterMs: number | undefined;
  readonly balanceSimilarNodeGroups: boolean;
  readonly skipNodesWithLocalStorage: boolean;
  readonly skipNodesWithSystemPods: boolean;
  readonly skipNodesWithCustomControllerPods: boolean;
  readonly newPodScaleUpDelayMs: number;
  readonly expendablePodsPriorityCutoff: number;
  readonly maxGracefulTerminationSeconds: number;
  readonly maxPodEvictionMs: number;
  /** Undefined: no bound. */
  readonly maxNodesTotal: number | undefined;
  readonly cores: Limits;
  readonly memoryBytes: Limits;
  readonly maxNodesPerScaleUp: number;
  readonly maxScaleDownParallelism: number;
  readonly maxDrainParallelism: number;
  /** Unneeded nodes that get or lose their soft taint in a loop; 0: none. */
  readonly maxBulkSoftTaintCount: number;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffResetMs: number;
  readonly enforceNodeGroupMinSize: boolean;
  /** A group grows by at most this share of its size within a minute, one node at least; undefined: no bound. */
  readonly rampPercentPerMinute: number | undefined;
  readonly maxTotalUnreadyPercentage: number;
  readonly okTotalUnreadyCount: number;
  readonly startupTaints: readonly string[];
  /** How long another shard may take to do what it is to do. */
  readonly shardPatienceMs: number;
}
