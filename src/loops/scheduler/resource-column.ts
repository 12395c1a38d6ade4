/**
 * One resource as scores read it: the capacity of a node, the use by its Pods, and the request of a Pod.
 * After  k/k pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
 */
import type { NodeTable } from "./node-table.ts";
import type { Requests } from "./requests.ts";

export interface ResourceColumn {
  max(nodes: NodeTable, slot: number): number;
  /** Used amount without the Pod in question. */
  used(nodes: NodeTable, slot: number): number;
  asked(requests: Requests): number;
  /** Whether the resource counts only for Pods that request it: an extended resource, or huge pages. */
  readonly isScalar: boolean;
}

/** `filled`: containers without requests of CPU or memory count as 100m and 200 MiB. */
export function resourceColumn(name: string, asks: "as they are" | "filled"): ResourceColumn {
  const isFilled = asks === "filled";
  switch (name) {
    case "cpu":
      return {
        max: (nodes, slot) => nodes.cpuMax[slot] ?? 0,
        used: (nodes, slot) => (isFilled ? nodes.cpuScored : nodes.cpuUsed)[slot] ?? 0,
        asked: (requests) => (isFilled ? requests.scoredCpu : requests.cpu),
        isScalar: false,
      };
    case "memory":
      return {
        max: (nodes, slot) => nodes.memoryMax[slot] ?? 0,
        used: (nodes, slot) => (isFilled ? nodes.memoryScored : nodes.memoryUsed)[slot] ?? 0,
        asked: (requests) => (isFilled ? requests.scoredMemory : requests.memory),
        isScalar: false,
      };
    case "ephemeral-storage":
      return {
        max: (nodes, slot) => nodes.ephemeralMax[slot] ?? 0,
        used: (nodes, slot) => nodes.ephemeralUsed[slot] ?? 0,
        asked: ({ ephemeral }) => ephemeral,
        isScalar: false,
      };
    default:
      return {
        max: (nodes, slot) => nodes.scalarMax(slot, name),
        used: (nodes, slot) => nodes.scalarUsed(slot, name),
        asked: ({ scalars }) => scalars.find(([scalar]) => scalar === name)?.[1] ?? 0,
        isScalar: true,
      };
  }
}
