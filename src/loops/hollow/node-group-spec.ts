/** The operator's declaration of node groups: see docs/autoscaler.md. */
import type { Taint } from "#api/gen/types.ts";

export interface NodeGroupSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Number of nodes at the start, from min to max. */
  readonly initial: number;
  /** By resource: quantities of cpu, memory, ephemeral-storage, pods, and extended resources. */
  readonly shape: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Zones over which the nodes are distributed. Empty: the nodes have no zone. */
  readonly zones: readonly string[];
  /** Price of a node per hour. */
  readonly price: number | undefined;
  readonly start: StartTime;
  readonly failures: readonly FailureProgram[];
  /** Name of a quota of `NodeGroupsFile.quotas`. */
  readonly quota: string | undefined;
  /** Maximum percentage of the group's size that starts within a minute, at least one node. Undefined: no limit. */
  readonly rampPercentPerMinute: number | undefined;
}

/** Time from the request of a node to its registration; uniformly distributed between the two. */
interface StartTime {
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * refuse  a request to grow is answered with an error
 * hang    it is not answered
 * never   a node is promised and never comes
 * error   an instance shows an error of class "out of resources" instead of coming
 */
export const failureKinds = ["refuse", "hang", "never", "error"] as const;

export interface FailureProgram {
  readonly kind: (typeof failureKinds)[number];
  /** Share of the requests or of the nodes, from 0 to 1. */
  readonly share: number;
  /** Time since the start of the process. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface NodeGroupsFile {
  readonly groups: readonly NodeGroupSpec[];
  /** By quota name: maximum number of instances of all groups with that quota. */
  readonly quotas: Readonly<Record<string, number>>;
}
