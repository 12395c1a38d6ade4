/** Options of the autoscaler: upstream's flags by their names, and Pilothouse's own. All are required; `cmd` has the defaults. */
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
  /** Each expander chooses among the groups that the previous one left. */
  readonly expanders: readonly Expander[];
  readonly group: GroupOptions;
  readonly scaleDownEnabled: boolean;
  readonly scaleDownUnreadyEnabled: boolean;
  readonly scaleDownDelayAfterAddMs: number;
  readonly scaleDownDelayAfterDeleteMs: number;
  readonly scaleDownDelayAfterFailureMs: number;
  /** Time after which nodes without Pods are removed. Upstream only has one time for all unneeded nodes. */
  readonly emptyNodeMs: number | undefined;
  /** Age at which nodes are replaced, like Karpenter's expireAfter. */
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
  /** Maximum number of unneeded nodes that get or lose their soft taint per loop; 0: none. */
  readonly maxBulkSoftTaintCount: number;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffResetMs: number;
  readonly enforceNodeGroupMinSize: boolean;
  /** Maximum growth of a group per minute, as a percentage of its size, at least one node. Undefined: no bound. */
  readonly rampPercentPerMinute: number | undefined;
  readonly maxTotalUnreadyPercentage: number;
  readonly okTotalUnreadyCount: number;
  readonly startupTaints: readonly string[];
  /** Maximum time to wait for another shard to grow its group. */
  readonly shardPatienceMs: number;
}
