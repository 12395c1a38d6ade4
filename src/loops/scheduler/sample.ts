/**
 * percentageOfNodesToScore: how many of the feasible nodes are scored. Here all of them are unless a
 * configuration asks for fewer: every node is filtered either way, so that a sample saves only scores.
 *
 * Which  the first that fit, counted from where the last decision stopped, so that each node has its turn.
 * After  k/k pkg/scheduler/schedule_one.go, numFeasibleNodesToFind.
 */
import type { Cycle } from "./cycle.ts";

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

export class Sampler {
  readonly #size: SampleSize;
  #start = 0;
  #isFeasible = new Uint8Array(0);

  constructor(size: SampleSize) {
    this.#size = size;
  }

  /** Keeps as many feasible nodes as are to be scored. The others are neither refused nor chosen. */
  narrow(cycle: Cycle): void {
    const { live, size, capacity } = cycle.cache.nodes;
    const wanted = nodesToScore(this.#size, size);
    if (this.#size === "all") return;
    if (this.#isFeasible.length < capacity) this.#isFeasible = new Uint8Array(capacity);
    const marks = this.#isFeasible.fill(0);
    for (let i = 0; i < cycle.count; i++) marks[cycle.feasible[i] ?? 0] = 1;
    let kept = 0;
    let looked = 0;
    for (; looked < size && kept < wanted; looked++) {
      const slot = live[(this.#start + looked) % size] ?? 0;
      if (marks[slot] === 1) cycle.feasible[kept++] = slot;
    }
    this.#start = size === 0 ? 0 : (this.#start + looked) % size;
    cycle.count = kept;
  }
}
