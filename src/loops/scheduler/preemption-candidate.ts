/** A preemption candidate: what preemption proposes for one node. */
import type { PodInfo } from "./pod-info.ts";

/** A node with the Pods to evict from it, the most important first. */
export interface Preemption {
  readonly nodeName: string;
  readonly victims: readonly PodInfo[];
  /** Number of victims whose eviction violates a disruption budget. */
  readonly budgetsBroken: number;
}
