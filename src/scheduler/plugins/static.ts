/** NodeUnschedulable, TaintToleration, NodeAffinity: one look at the class's verdict on each node. */
import type { FilterPlugin, ScorePlugin } from "../framework.ts";
import { normalize } from "../framework.ts";

export const staticFilter: FilterPlugin = {
  name: "NodeUnschedulable+TaintToleration+NodeAffinity",
  filter(cycle) {
    const { classes, podClass } = cycle;
    cycle.keep((slot) => classes.verdict(podClass, slot));
  },
};

export const taintScore: ScorePlugin = {
  name: "TaintToleration",
  weight: 3,
  score(cycle, scores) {
    const { taints } = cycle.podClass;
    if (!copyColumn(cycle.feasible, cycle.count, taints, scores)) return false;
    normalize(cycle, scores, true);
    return true;
  },
};

export const nodeAffinityScore: ScorePlugin = {
  name: "NodeAffinity",
  weight: 2,
  score(cycle, scores) {
    const { affinity } = cycle.podClass;
    if (!copyColumn(cycle.feasible, cycle.count, affinity, scores)) return false;
    normalize(cycle, scores, false);
    return true;
  },
};

/** @returns false when all are zero: every node would score alike. */
function copyColumn(
  feasible: Int32Array,
  count: number,
  from: Float64Array,
  into: Float64Array,
): boolean {
  let any = false;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    const value = from[slot] ?? 0;
    into[slot] = value;
    any ||= value !== 0;
  }
  return any;
}
