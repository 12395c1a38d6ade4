/** NodeUnschedulable, TaintToleration, NodeAffinity: one look at the class's verdict on each node. */
import type { Cycle, FilterPlugin, ScorePlugin } from "../framework.ts";
import { normalize } from "../framework.ts";

export const staticFilter: FilterPlugin = {
  name: "NodeUnschedulable+TaintToleration+NodeAffinity",
  filter(cycle) {
    const { classes, podClass } = cycle;
    // A what-if about one node must not bring the verdicts on all of them up to date.
    if (cycle.count === 1) cycle.keep((slot) => classes.verdict(podClass, slot));
    else if (!classes.check(podClass).allFit) keepFitting(cycle, podClass.verdict);
  },
};

function keepFitting(cycle: Cycle, verdict: Int32Array): void {
  cycle.keep((slot) => verdict[slot] ?? -1);
}

export const taintScore: ScorePlugin = {
  name: "TaintToleration",
  weight: 3,
  score(cycle, scores) {
    const { classes, podClass } = cycle;
    if (!classes.check(podClass).anyTaints) return false;
    copyColumn(cycle, podClass.taints, scores);
    normalize(cycle, scores, true);
    return true;
  },
};

export const nodeAffinityScore: ScorePlugin = {
  name: "NodeAffinity",
  weight: 2,
  score(cycle, scores) {
    const { classes, podClass } = cycle;
    if (!classes.check(podClass).anyAffinity) return false;
    copyColumn(cycle, podClass.affinity, scores);
    normalize(cycle, scores, false);
    return true;
  },
};

function copyColumn(cycle: Cycle, from: Float64Array, into: Float64Array): void {
  const { feasible, count } = cycle;
  for (let i = 0; i < count; i++) {
    const slot = feasible[i] ?? 0;
    into[slot] = from[slot] ?? 0;
  }
}
