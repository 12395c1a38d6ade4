/**
 * How full a node is to be: the scoring strategies of NodeResourcesFitArgs, for CPU and memory.
 * After  k/k pkg/scheduler/framework/plugins/noderesources: least_allocated.go, most_allocated.go,
 *        requested_to_capacity_ratio.go. All arithmetic is in whole numbers, as there.
 */
import type { NodeTable } from "./node-table.ts";
import type { RoomScore } from "./pod-class.ts";
import type { Requests } from "./requests.ts";

/** `utilization` 0 to 100, `score` 0 to 10. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

export interface ScoringStrategy {
  readonly type: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  /** 0: the resource does not count. */
  readonly cpuWeight: number;
  readonly memoryWeight: number;
  /** Of RequestedToCapacityRatio: by rising utilization, at least one. */
  readonly shape: readonly ShapePoint[];
}

export const leastAllocated: ScoringStrategy = {
  type: "LeastAllocated",
  cpuWeight: 1,
  memoryWeight: 1,
  shape: [],
};

const scoreMax = 100;
const shapeScoreMax = 10;

export function strategyScore(strategy: ScoringStrategy): RoomScore["score"] {
  const { cpuWeight, memoryWeight } = strategy;
  const share = shareOf(strategy);
  // Only of this strategy resources that score 0 are left out of the mean.
  const leavesOut = strategy.type === "RequestedToCapacityRatio";
  return (nodes: NodeTable, requests: Requests, slot: number): number => {
    const cpuUsed = (nodes.cpuScored[slot] ?? 0) + requests.scoredCpu;
    const memoryUsed = (nodes.memoryScored[slot] ?? 0) + requests.scoredMemory;
    const parts = [
      [cpuWeight, nodes.cpuMax[slot] ?? 0, cpuUsed],
      [memoryWeight, nodes.memoryMax[slot] ?? 0, memoryUsed],
    ] as const;
    let sum = 0;
    let weights = 0;
    for (const [weight, max, used] of parts) {
      if (max === 0) continue;
      const score = share(max, used);
      if (leavesOut && score === 0) continue;
      sum += score * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return leavesOut ? Math.round(sum / weights) : Math.floor(sum / weights);
  };
}

function shareOf({ type, shape }: ScoringStrategy): (max: number, used: number) => number {
  switch (type) {
    case "LeastAllocated":
      return (max, used) => (used > max ? 0 : Math.floor(((max - used) * scoreMax) / max));
    case "MostAllocated":
      return (max, used) => Math.floor((Math.min(used, max) * scoreMax) / max);
    case "RequestedToCapacityRatio":
      return (max, used) =>
        onShape(shape, used > max ? 100 : Math.floor((used * 100) / max)) *
        (scoreMax / shapeScoreMax);
  }
}

/** The line through the points, level before the first and after the last one; cut towards zero. */
function onShape(shape: readonly ShapePoint[], utilization: number): number {
  const after = shape.findIndex((point) => utilization <= point.utilization);
  const to = shape[after === -1 ? shape.length - 1 : after] as ShapePoint;
  const from = shape[after - 1];
  if (after <= 0 || from === undefined) return to.score;
  const rise = (to.score - from.score) * (utilization - from.utilization);
  return from.score + Math.trunc(rise / (to.utilization - from.utilization));
}
