/** The number of feasible nodes that are scored. After k/k pkg/scheduler/schedule_one.go, numFeasibleNodesToFind. */

/** A percentage from 1 to 100. `adaptive`: as upstream, the larger the cluster, the smaller the share. */
export type SampleSize = "all" | "adaptive" | number;

/** Clusters with fewer nodes score all of them. */
const nodesMin = 100;
const adaptiveFirst = 50;
const adaptiveLeast = 5;
/** Number of nodes by which the cluster must grow for a share one per cent smaller. */
const adaptiveStep = 125;

export function nodesToScore(size: SampleSize, nodeCount: number): number {
  if (size === "all" || nodeCount < nodesMin) return nodeCount;
  const percentage = size === "adaptive" ? adaptiveShare(nodeCount) : size;
  return Math.max(nodesMin, Math.floor((nodeCount * percentage) / 100));
}

function adaptiveShare(nodeCount: number): number {
  return Math.max(adaptiveLeast, adaptiveFirst - Math.floor(nodeCount / adaptiveStep));
}
