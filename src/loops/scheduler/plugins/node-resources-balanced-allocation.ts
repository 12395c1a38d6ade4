/** NodeResourcesBalancedAllocation: the closer a node's shares of CPU and memory, the better. */
import type { NodeTable } from "../node-table.ts";
import type { Plugin } from "../plugin.ts";
import type { Requests } from "../requests.ts";

export function nodeResourcesBalancedAllocation(): Plugin {
  return {
    name: "NodeResourcesBalancedAllocation",
    roomScore: { weight: 1, score: balancedScore },
  };
}

/** Pods that ask for nothing have no balance to keep: all nodes alike. */
function balancedScore(nodes: NodeTable, requests: Requests, slot: number): number {
  const { cpu, memory } = requests;
  if (cpu === 0 && memory === 0) return 0;
  const cpuShare = usedShare(nodes.cpuMax[slot] ?? 0, (nodes.cpuUsed[slot] ?? 0) + cpu);
  const memoryShare = usedShare(nodes.memoryMax[slot] ?? 0, (nodes.memoryUsed[slot] ?? 0) + memory);
  // The standard deviation of two values is half their distance.
  return Math.floor((1 - Math.abs(cpuShare - memoryShare) / 2) * 100);
}

function usedShare(max: number, used: number): number {
  return max === 0 ? 1 : Math.min(1, used / max);
}
