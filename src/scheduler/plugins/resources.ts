/**
 * NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation; upstream's arithmetic.
 *
 * Both depend on the class's requests and the node's sums alone, so they are kept by class and slot
 * until the node's room generation moves: of thousands of alike Pods in a row each works out one node.
 */
import type { Cycle, FilterPlugin, ScorePlugin } from "../framework.ts";
import type { NodeTable } from "../node-table.ts";
import type { PodClass } from "../pod-class.ts";
import type { Requests } from "../requests.ts";
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
    const { feasible, podClass } = cycle;
    const { nodes } = cycle.cache;
    const { room, roomGeneration } = podClass;
    const current = nodes.roomGeneration;
    let kept = 0;
    for (let i = 0; i < cycle.count; i++) {
      const slot = feasible[i] ?? 0;
      if (roomGeneration[slot] !== current[slot]) judgeRoom(podClass, nodes, slot);
      if (room[slot] === 1) feasible[kept++] = slot;
      else refuseFor(cycle, slot);
    }
    cycle.count = kept;
  },
};

function judgeRoom(podClass: PodClass, nodes: NodeTable, slot: number): void {
  const { requests } = podClass.sample;
  podClass.roomGeneration[slot] = nodes.roomGeneration[slot] ?? 0;
  const fit = lackOf(nodes, requests, slot).length === 0;
  podClass.room[slot] = fit ? 1 : 0;
  podClass.roomScore[slot] = fit
    ? leastAllocated(nodes, requests, slot) + balancedScore(nodes, requests, slot)
    : 0;
}

function refuseFor(cycle: Cycle, slot: number): void {
  const [first = tooManyPods, ...rest] = lackOf(cycle.cache.nodes, cycle.info.requests, slot);
  cycle.refuse(slot, first);
  for (const reason of rest) cycle.alsoRefuse(reason);
}

const nothing: readonly number[] = [];

/** Reason ids of all that the node lacks. */
function lackOf(nodes: NodeTable, requests: Requests, slot: number): readonly number[] {
  const { cpu, memory, ephemeral, scalars } = requests;
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
  return found.length === 0 ? nothing : found;
}

/** The sum of two plugins of weight 1 each, so 0..200. */
export const resourcesScore: ScorePlugin = {
  name: "NodeResourcesFit+NodeResourcesBalancedAllocation",
  weight: 1,
  score(cycle, scores) {
    const { feasible, count } = cycle;
    const { roomScore } = cycle.podClass;
    for (let i = 0; i < count; i++) {
      const slot = feasible[i] ?? 0;
      scores[slot] = roomScore[slot] ?? 0;
    }
    return true;
  },
};

function leastAllocated(nodes: NodeTable, requests: Requests, slot: number): number {
  const cpuUsed = (nodes.cpuScored[slot] ?? 0) + requests.scoredCpu;
  const memoryUsed = (nodes.memoryScored[slot] ?? 0) + requests.scoredMemory;
  const cpu = leftShare(nodes.cpuMax[slot] ?? 0, cpuUsed);
  const memory = leftShare(nodes.memoryMax[slot] ?? 0, memoryUsed);
  return Math.floor((cpu + memory) / 2);
}

function leftShare(max: number, used: number): number {
  return max === 0 || used > max ? 0 : Math.floor(((max - used) * 100) / max);
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
