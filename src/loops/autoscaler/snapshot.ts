/** What a plan is made of: groups as the provider shows them, beside the cluster as informers show it. */
import type { DaemonSet, Node, PodDisruptionBudget } from "#api/gen/types.ts";
import type { Cluster } from "./cluster.ts";

export interface Instance {
  /** The `providerID` of its Node. */
  readonly id: string;
  readonly state: "unspecified" | "running" | "creating" | "deleting";
  readonly error: InstanceError | undefined;
}

interface InstanceError {
  readonly code: string;
  readonly message: string;
  readonly isOutOfResources: boolean;
}

/** What may differ by group. */
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
  /** A node as it will register; undefined: nobody knows. */
  readonly template: Node | undefined;
  /** Of a node and an hour. */
  readonly price: number | undefined;
  readonly options: GroupOptions;
  /** Another shard grows and shrinks the others. */
  readonly isOwn: boolean;
}

export interface Snapshot {
  readonly nowMs: number;
  readonly cluster: Cluster;
  readonly groups: readonly Group[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly daemonSets: readonly DaemonSet[];
  /** Of the ConfigMap of the priority expander: by priority, patterns of group ids. */
  readonly priorities: ReadonlyMap<number, readonly GroupPattern[]>;
}

export interface GroupPattern {
  /** Whether a group of this id is meant. */
  test(id: string): boolean;
}
