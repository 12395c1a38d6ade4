/** NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation; upstream's arithmetic. */
import type { Cycle, FilterPlugin, ScorePlugin } from "../framework.ts";
import { reasonId } from "../reasons.ts";

const tooManyPods = reasonId("NodeResourcesFit", "Too many pods", true);
const lacksCpu = lacks("cpu");
const lacksMemory = lacks("memory");
const lacksEphemeral = lacks("ephemeral-storage");

function lacks(resource: string): number {
  return reasonId("NodeResourcesFit", `Insufficient ${resource}`, true);
}

export const resourcesFilter: FilterPlugin = {
  name: "NodeResourcesFit",
  filter(cycle) {
    const { nodes } = cycle.cache;
    const { cpu, memory, ephemeral, scalars } = cycle.info.requests;
    const { cpuMax, cpuUsed, memoryMax, memoryUsed } = nodes;
    const { podsMax, podsUsed, ephemeralMax, ephemeralUsed } = nodes;
    const plain = scalars.length === 0;
    cycle.keep((slot) => {
      const fit =
        (podsUsed[slot] ?? 0) + 1 <= (podsMax[slot] ?? 0) &&
        (cpu === 0 || cpu <= (cpuMax[slot] ?? 0) - (cpuUsed[slot] ?? 0)) &&
        (memory === 0 || memory <= (memoryMax[slot] ?? 0) - (memoryUsed[slot] ?? 0)) &&
        (ephemeral === 0 || ephemeral <= (ephemeralMax[slot] ?? 0) - (ephemeralUsed[slot] ?? 0));
      return fit && plain ? -1 : firstLack(cycle, slot);
    });
  },
};

/** All that the node lacks: the first is returned, the rest noted. -1 when nothing. */
function firstLack(cycle: Cycle, slot: number): number {
  const { nodes } = cycle.cache;
  const { cpu, memory, ephemeral, scalars } = cycle.info.requests;
  const free = (max: Float64Array, used: Float64Array): number =>
    (max[slot] ?? 0) - (used[slot] ?? 0);
  const found: number[] = [];
  if (free(nodes.podsMax, nodes.podsUsed) < 1) found.push(tooManyPods);
  if (cpu > 0 && cpu > free(nodes.cpuMax, nodes.cpuUsed)) found.push(lacksCpu);
  if (memory > 0 && memory > free(nodes.memoryMax, nodes.memoryUsed)) found.push(lacksMemory);
  if (ephemeral > 0 && ephemeral > free(nodes.ephemeralMax, nodes.ephemeralUsed)) {
    found.push(lacksEphemeral);
  }
  for (const [name, amount] of scalars) {
    if (amount > nodes.scalarFree(slot, name)) found.push(lacks(name));
  }
  for (let i = 1; i < found.length; i++) cycle.alsoRefuse(found[i] ?? 0);
  return found[0] ?? -1;
}

export const leastAllocatedScore: ScorePlugin = {
  name: "NodeResourcesFit",
  weight: 1,
  score(cycle, scores) {
    const { feasible, count, info } = cycle;
    const { cpuMax, cpuScored, memoryMax, memoryScored } = cycle.cache.nodes;
    const { scoredCpu, scoredMemory } = info.requests;
    for (let i = 0; i < count; i++) {
      const slot = feasible[i] ?? 0;
      const cpu = leftShare(cpuMax[slot] ?? 0, (cpuScored[slot] ?? 0) + scoredCpu);
      const memory = leftShare(memoryMax[slot] ?? 0, (memoryScored[slot] ?? 0) + scoredMemory);
      scores[slot] = Math.floor((cpu + memory) / 2);
    }
    return true;
  },
};

function leftShare(max: number, used: number): number {
  return max === 0 || used > max ? 0 : Math.floor(((max - used) * 100) / max);
}

/** Pods that ask for nothing have no balance to keep. */
export const balancedScore: ScorePlugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,
  score(cycle, scores) {
    const { feasible, count, info } = cycle;
    const { cpuMax, cpuUsed, memoryMax, memoryUsed } = cycle.cache.nodes;
    const { cpu, memory } = info.requests;
    if (cpu === 0 && memory === 0) return false;
    for (let i = 0; i < count; i++) {
      const slot = feasible[i] ?? 0;
      const cpuShare = usedShare(cpuMax[slot] ?? 0, (cpuUsed[slot] ?? 0) + cpu);
      const memoryShare = usedShare(memoryMax[slot] ?? 0, (memoryUsed[slot] ?? 0) + memory);
      // The standard deviation of two values is half their distance.
      scores[slot] = Math.floor((1 - Math.abs(cpuShare - memoryShare) / 2) * 100);
    }
    return true;
  },
};

function usedShare(max: number, used: number): number {
  return max === 0 ? 1 : Math.min(1, used / max);
}
