/**
 * Limits the number of candidate nodes that preemption examines: DefaultPreemptionArgs.
 * After  k/k pkg/scheduler/framework/plugins/defaultpreemption, calculateNumCandidates.
 */
export interface PreemptionLimits {
  /** Percentage of the nodes where preemption might help, 0 to 100. */
  readonly minCandidateNodesPercentage: number;
  readonly minCandidateNodesAbsolute: number;
}

export const preemptionLimits: PreemptionLimits = {
  minCandidateNodesPercentage: 10,
  minCandidateNodesAbsolute: 100,
};

export function candidatesWanted(limits: PreemptionLimits, nodeCount: number): number {
  const share = Math.floor((nodeCount * limits.minCandidateNodesPercentage) / 100);
  return Math.min(nodeCount, Math.max(share, limits.minCandidateNodesAbsolute));
}
