/**
 * NodeResourcesBalancedAllocation: scores how much closer to each other the Pod brings the used shares of a node's
 *                                  resources.
 * After  k/k pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go: 50 worsens the balance most, 75
 *        leaves it unchanged, 100 improves it most.
 */
import type { NodeTable } from "../node-table.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { RoomScore } from "../pod-class.ts";
import type { Requests } from "../requests.ts";
import { type ResourceColumn, resourceColumn } from "../resource-column.ts";

const cpuAndMemory: readonly string[] = ["cpu", "memory"];
const scoreMax = 100;

export function nodeResourcesBalancedAllocation(
  _deps?: PluginDeps,
  resources = cpuAndMemory,
): Plugin {
  return {
    name: "NodeResourcesBalancedAllocation",
    roomScore: { weight: 1, score: balancedScore(resources) },
  };
}

function balancedScore(resources: readonly string[]): RoomScore["score"] {
  const columns = resources.map((name) => resourceColumn(name, "as they are"));
  return (nodes, requests, slot) => {
    // All nodes score alike for Pods without requests.
    if (columns.every((column) => column.asked(requests) === 0)) return 0;
    const counting = columns.filter(
      (column) => column.max(nodes, slot) > 0 && !(column.isScalar && column.asked(requests) === 0),
    );
    const before = balance(counting, nodes, slot, undefined);
    const after = balance(counting, nodes, slot, requests);
    return scoreMax / 2 + Math.trunc((scoreMax / 2 + after - before) / 2);
  };
}

/** Returns 100 minus the standard deviation of the used shares in percent, rounded down. */
function balance(
  columns: readonly ResourceColumn[],
  nodes: NodeTable,
  slot: number,
  requests: Requests | undefined,
): number {
  const shares = columns.map((column) => {
    const asked = requests === undefined ? 0 : column.asked(requests);
    return Math.min(1, (column.used(nodes, slot) + asked) / column.max(nodes, slot));
  });
  return Math.trunc((1 - deviation(shares)) * scoreMax);
}

function deviation(shares: readonly number[]): number {
  const [first = 0, second = 0] = shares;
  if (shares.length < 2) return 0;
  if (shares.length === 2) return Math.abs((first - second) / 2);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const squares = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0);
  return Math.sqrt(squares / shares.length);
}
