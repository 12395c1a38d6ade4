/** The number of feasible nodes that are scored. After k/k pkg/scheduler/schedule_one.go, numFeasibleNodesToFind. */

/** A percentage from 1 to 100; `adaptive`: the larger the cluster, the smaller the share, as upstream. */
export type SampleSize = "all" | "adaptive" | number;

/** Fewer nodes than that are always all scored. */
const nodesMin = 100;
const adaptiveFirst = 50;
const adaptiveLeast = 5;
/** Nodes for each per cent less. */
const adaptiveStep = 125;

export function nodesToScore(size: SampleSize, nodeCount: number): number {
  if (size === "all" || nodeCount < nodesMin) return nodeCount;
  const percentage = size === "adaptive" ? adaptiveShare(nodeCount) : size;
  return Math.max(nodesMin, Math.floor((nodeCount * percentage) / 100));
}

function adaptiveShare(nodeCount: number): number {
  return Math.max(adaptiveLeast, adaptiveFirst - Math.floor(nodeCount / adaptiveStep));
}
