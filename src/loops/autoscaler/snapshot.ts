/** Input of a plan: the groups as the provider reports them, and the cluster as informers report it. */
import type { DaemonSet, Node, PodDisruptionBudget } from "#api/gen/types.ts";
import type { Cluster } from "./cluster.ts";

export interface Instance {
  /** `providerID` of the instance's Node. */
  readonly id: string;
  readonly state: "unspecified" | "running" | "creating" | "deleting";
  readonly error: InstanceError | undefined;
}

interface InstanceError {
  readonly code: string;
  readonly message: string;
  readonly isOutOfResources: boolean;
}

/** Options that may differ per group. */
export interface GroupOptions {
  readonly scaleDownUtilizationThreshold: number;
  readonly scaleDownUnneededMs: number;
  readonly scaleDownUnreadyMs: number;
  readonly maxNodeProvisionMs: number;
  readonly ignoreDaemonSetsUtilization: boolean;
}

export interface Group {
  readonly id: string;
  readonly min: number;
  readonly max: number;
  readonly target: number;
  readonly instances: readonly Instance[];
  /** A node of the group as it will register. Undefined: not known. */
  readonly template: Node | undefined;
  /** Price of a node per hour. */
  readonly price: number | undefined;
  readonly options: GroupOptions;
  /** Whether this shard manages the group. Another shard grows and shrinks the other groups. */
  readonly isOwn: boolean;
}

export interface Snapshot {
  readonly nowMs: number;
  readonly cluster: Cluster;
  readonly groups: readonly Group[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly daemonSets: readonly DaemonSet[];
  /** By priority: patterns of group ids, from the priority expander's ConfigMap. */
  readonly priorities: ReadonlyMap<number, readonly GroupPattern[]>;
}

export interface GroupPattern {
  /** Whether the pattern matches the group id. */
  test(id: string): boolean;
}
