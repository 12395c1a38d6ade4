/**
 * The scoring strategies of NodeResourcesFitArgs, for any resources: they define how full nodes should be.
 * After  k/k pkg/scheduler/framework/plugins/noderesources: least_allocated.go, most_allocated.go,
 *        requested_to_capacity_ratio.go. As there, all arithmetic is in whole numbers.
 */
import type { NodeTable } from "./node-table.ts";
import type { RoomScore } from "./pod-class.ts";
import type { Requests } from "./requests.ts";
import { resourceColumn } from "./resource-column.ts";

/** A point of the shape: `utilization` 0 to 100, `score` 0 to 10. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

/** A resource with its `weight`, 1 to 100. */
export interface WeightedResource {
  readonly name: string;
  readonly weight: number;
}

export interface ScoringStrategy {
  readonly type: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  readonly resources: readonly WeightedResource[];
  /** For RequestedToCapacityRatio: at least one point, by rising utilization. */
  readonly shape: readonly ShapePoint[];
}

export const cpuAndMemory: readonly WeightedResource[] = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];

export const leastAllocated: ScoringStrategy = {
  type: "LeastAllocated",
  resources: cpuAndMemory,
  shape: [],
};

const scoreMax = 100;
const shapeScoreMax = 10;

export function strategyScore(strategy: ScoringStrategy): RoomScore["score"] {
  const share = shareOf(strategy);
  // Only this strategy omits resources that score 0 from the mean.
  const leavesOut = strategy.type === "RequestedToCapacityRatio";
  const columns = strategy.resources.map(({ name, weight }) => {
    return { weight, column: resourceColumn(name, "filled") };
  });
  return (nodes: NodeTable, requests: Requests, slot: number): number => {
    let sum = 0;
    let weights = 0;
    for (const { weight, column } of columns) {
      const asked = column.asked(requests);
      const max = column.max(nodes, slot);
      if (max === 0 || (column.isScalar && asked === 0)) continue;
      const score = share(max, column.used(nodes, slot) + asked);
      if (leavesOut && score === 0) continue;
      sum += score * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return leavesOut ? Math.round(sum / weights) : Math.floor(sum / weights);
  };
}

function shareOf({ type, shape }: ScoringStrategy): (max: number, used: number) => number {
  const scaled = scaledShape(shape);
  switch (type) {
    case "LeastAllocated":
      return (max, used) => (used > max ? 0 : Math.floor(((max - used) * scoreMax) / max));
    case "MostAllocated":
      return (max, used) => Math.floor((Math.min(used, max) * scoreMax) / max);
    case "RequestedToCapacityRatio":
      return (max, used) => onShape(scaled, used > max ? 100 : Math.floor((used * 100) / max));
  }
}

/** Scales the scores to 0..100. */
function scaledShape(shape: readonly ShapePoint[]): readonly ShapePoint[] {
  const scale = scoreMax / shapeScoreMax;
  return shape.map(({ utilization, score }) => ({ utilization, score: score * scale }));
}

/** Interpolates linearly between the points, constant beyond the first and last one; truncates toward zero. */
function onShape(shape: readonly ShapePoint[], utilization: number): number {
  const after = shape.findIndex((point) => utilization <= point.utilization);
  const to = shape[after === -1 ? shape.length - 1 : after] as ShapePoint;
  const from = shape[after - 1];
  if (after <= 0 || from === undefined) return to.score;
  const rise = (to.score - from.score) * (utilization - from.utilization);
  return from.score + Math.trunc(rise / (to.utilization - from.utilization));
}
