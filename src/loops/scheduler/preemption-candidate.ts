/** What preemption proposes for one node. */
import type { PodInfo } from "./pod-info.ts";

/** A node, and the Pods to take off it, the most important one first. */
export interface Preemption {
  readonly nodeName: string;
  readonly victims: readonly PodInfo[];
  /** Victims whose going breaks a disruption budget. */
  readonly budgetsBroken: number;
}
