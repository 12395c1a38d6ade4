/**
 * Room on nodes as vectors, so that equal Pods are counted instead of placed one by one.
 *
 * In     the resources that the Pods in question ask for: cpu, memory, ephemeral-storage, pods, then others by name.
 * Holds  `copies(free, demand)` Pods pass NodeResourcesFit one after the other, and one more does not.
 */
import type { NodeTable } from "#scheduler/node-table.ts";
import type { Requests } from "#scheduler/requests.ts";

export type Vector = Float64Array;

const fixed = 4;

export class Room {
  readonly #nodes: NodeTable;
  readonly #others: readonly string[];

  constructor(nodes: NodeTable, requests: Iterable<Requests>) {
    const names = new Set<string>();
    for (const { scalars } of requests) for (const [name] of scalars) names.add(name);
    this.#nodes = nodes;
    this.#others = [...names].toSorted();
  }

  demand({ cpu, memory, ephemeral, scalars }: Requests): Vector {
    const vector = new Float64Array(fixed + this.#others.length);
    vector.set([cpu, memory, ephemeral, 1]);
    for (const [name, amount] of scalars) {
      const at = this.#others.indexOf(name);
      // The vectors have no entry for resources that no waiting Pod requests.
      if (at >= 0) vector[fixed + at] = amount;
    }
    return vector;
  }

  free(slot: number): Vector {
    const nodes = this.#nodes;
    const vector = new Float64Array(fixed + this.#others.length);
    vector[0] = (nodes.cpuMax[slot] ?? 0) - (nodes.cpuUsed[slot] ?? 0);
    vector[1] = (nodes.memoryMax[slot] ?? 0) - (nodes.memoryUsed[slot] ?? 0);
    vector[2] = (nodes.ephemeralMax[slot] ?? 0) - (nodes.ephemeralUsed[slot] ?? 0);
    vector[3] = (nodes.podsMax[slot] ?? 0) - (nodes.podsUsed[slot] ?? 0);
    this.#others.forEach((name, at) => {
      vector[fixed + at] = nodes.scalarFree(slot, name);
    });
    return vector;
  }

  /** Whether one Pod of `demand` fits; equals `copies(free(slot), demand, 1) > 0`, without allocating a vector. */
  hasRoom(slot: number, demand: Vector): boolean {
    const nodes = this.#nodes;
    const [cpu = 0, memory = 0, ephemeral = 0] = demand;
    if (cpu > 0 && cpu > (nodes.cpuMax[slot] ?? 0) - (nodes.cpuUsed[slot] ?? 0)) return false;
    if (memory > 0 && memory > (nodes.memoryMax[slot] ?? 0) - (nodes.memoryUsed[slot] ?? 0)) {
      return false;
    }
    if ((nodes.podsUsed[slot] ?? 0) + 1 > (nodes.podsMax[slot] ?? 0)) return false;
    if (
      ephemeral > 0 &&
      ephemeral > (nodes.ephemeralMax[slot] ?? 0) - (nodes.ephemeralUsed[slot] ?? 0)
    ) {
      return false;
    }
    return this.#others.every((name, at) => {
      const amount = demand[fixed + at] ?? 0;
      return amount === 0 || amount <= nodes.scalarFree(slot, name);
    });
  }
}

/** Returns how many Pods fit, at most `most`. Resources that the Pod does not request are ignored, however little of them is free. */
export function copies(free: Vector, demand: Vector, most: number): number {
  let count = most;
  for (let i = 0; i < demand.length && count > 0; i++) {
    const amount = demand[i] ?? 0;
    if (amount > 0) count = Math.min(count, Math.floor((free[i] ?? 0) / amount));
  }
  return Math.max(0, count);
}

export function take(free: Vector, demand: Vector, count: number): void {
  for (let i = 0; i < demand.length; i++) free[i] = (free[i] ?? 0) - count * (demand[i] ?? 0);
}
