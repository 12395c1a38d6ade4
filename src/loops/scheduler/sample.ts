/**
 * percentageOfNodesToScore: the number of feasible nodes that are scored. By default all are scored. Every node is
 * filtered in any case, so a smaller sample saves only scoring.
 *
 * Which  the first fitting nodes, starting where the last decision stopped, so that every node gets its turn.
 * After  k/k pkg/scheduler/schedule_one.go, numFeasibleNodesToFind.
 */
import type { Cycle } from "./cycle.ts";
import { nodesToScore, type SampleSize } from "./sample-size.ts";

export class Sampler {
  readonly #size: SampleSize;
  #start = 0;
  #isFeasible = new Uint8Array(0);

  constructor(size: SampleSize) {
    this.#size = size;
  }

  /** Reduces the feasible nodes to the number to score. The other nodes are neither refused nor chosen. */
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
