/**
 * Places Pods without a node on the nodes there are, in a what-if: those that fit need no new node.
 *
 * Cost   one pass of the filters over the nodes per kind; then a step per Pod that is coupled, and per node for all
 *        others. Bounds `stepsMax` steps per kind: what is left after them counts as without a place.
 */
import type { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import type { NodeTable } from "#scheduler/node-table.ts";
import type { WhatIf } from "./cluster.ts";
import type { Kind } from "./kinds.ts";
import { copies, type Room, take, type Vector } from "./room.ts";

const stepsMax = 30_000;

interface FillDeps {
  readonly algorithm: ScheduleAlgorithm;
  readonly nodes: NodeTable;
  readonly room: Room;
  readonly whatIf: WhatIf;
  /** Called with the slot of a node that took Pods. */
  readonly placed?: (slot: number) => void;
}

export class Filler {
  readonly #deps: FillDeps;
  /** By slot: free room of nodes that took counted Pods. */
  readonly #free = new Map<number, Vector>();

  constructor(deps: FillDeps) {
    this.#deps = deps;
  }

  /** Removes from `kind.left` the Pods that have a place on a node for which `isOpen` returns true. */
  fill(kind: Kind, isOpen: (slot: number) => boolean): void {
    if (kind.isCoupled) this.#fillCoupled(kind, isOpen);
    else this.#fillCounted(kind, isOpen);
  }

  #candidates({ sample, demand }: Kind, isOpen: (slot: number) => boolean): Int32Array {
    const { nodes, room, algorithm } = this.#deps;
    const slots = new Int32Array(nodes.size);
    let count = 0;
    for (let i = 0; i < nodes.size; i++) {
      const slot = nodes.live[i] ?? 0;
      if (!room.hasRoom(slot, demand) || !isOpen(slot)) continue;
      const free = this.#free.get(slot);
      if (free === undefined || copies(free, demand, 1) > 0) slots[count++] = slot;
    }
    return algorithm.feasible(sample, slots.subarray(0, count));
  }

  #fillCounted(kind: Kind, isOpen: (slot: number) => boolean): void {
    const { left, demand } = kind;
    for (const slot of this.#candidates(kind, isOpen)) {
      if (left.length === 0) return;
      let free = this.#free.get(slot);
      if (free === undefined) {
        free = this.#deps.room.free(slot);
        this.#free.set(slot, free);
      }
      const count = copies(free, demand, left.length);
      take(free, demand, count);
      left.length -= count;
      if (count > 0) this.#deps.placed?.(slot);
    }
  }

  /** Passes over the nodes repeatedly, because a Pod placed in one domain may make another domain available. */
  #fillCoupled(kind: Kind, isOpen: (slot: number) => boolean): void {
    const { algorithm, nodes, whatIf, placed } = this.#deps;
    const { left } = kind;
    const slots = this.#candidates(kind, isOpen);
    let steps = 0;
    let before = -1;
    while (left.length > 0 && left.length !== before) {
      before = left.length;
      for (const slot of slots) {
        for (let info = left.at(-1); info !== undefined; info = left.at(-1)) {
          if (++steps > stepsMax) return;
          const free = this.#free.get(slot);
          if (free !== undefined && copies(free, kind.demand, 1) === 0) break;
          if (!algorithm.passes(info, slot)) break;
          whatIf.assume(info, nodes.name(slot));
          if (free !== undefined) take(free, kind.demand, 1);
          placed?.(slot);
          left.pop();
        }
      }
    }
  }
}
