/** What an operator declares of node groups: see docs/autoscaler.md. */
import type { Taint } from "#api/gen/types.ts";

export interface NodeGroupSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Nodes at the start: from min to max. */
  readonly initial: number;
  /** Quantities by resource: cpu, memory, ephemeral-storage, pods, and extended ones. */
  readonly shape: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Nodes are dealt over these; empty: they have no zone. */
  readonly zones: readonly string[];
  /** Of a node and an hour. */
  readonly price: number | undefined;
  readonly start: StartTime;
  readonly failures: readonly FailureProgram[];
  /** Of `NodeGroupsFile.quotas`. */
  readonly quota: string | undefined;
  /** At most so much of the group's size starts within a minute, one node at least; undefined: no bound. */
  readonly rampPercentPerMinute: number | undefined;
}

/** From the request of a node until it registers; uniform between the two. */
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
  /** Of the requests, or of the nodes. From 0 to 1. */
  readonly share: number;
  /** Since the start of the process. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface NodeGroupsFile {
  readonly groups: readonly NodeGroupSpec[];
  /** The most instances of all groups that name the quota. */
  readonly quotas: Readonly<Record<string, number>>;
}
