/**
 * Free room of a region's nodes as a small histogram: how many nodes of a class have at least so much CPU, memory and pods.
 *
 * In     the room of each node, as it changes.
 * Holds  what `fitting` says is never more than what the nodes hold: amounts are rounded down to steps of two, and what is
 *        cut off at the limit is not claimed.
 * Cost   O(1) per change of a node; `cells` O(cells). Bounds: at most steps^3 cells of a class, in practice some ten.
 */

/** CPU in millicores, memory in MiB. */
export interface Room {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
}

export interface RoomCell extends Room {
  readonly nodes: number;
}

export class RoomCells {
  readonly #counts = new Map<string, RoomCell>();

  add(room: Room): void {
    this.#change(room, 1);
  }

  remove(room: Room): void {
    this.#change(room, -1);
  }

  /** Returns the cells, sorted by their total CPU, the largest first. */
  cells(): readonly RoomCell[] {
    return [...this.#counts.values()].toSorted(
      (a, b) => b.cpu * b.nodes - a.cpu * a.nodes || b.memory * b.nodes - a.memory * a.nodes,
    );
  }

  #change(room: Room, by: number): void {
    const cell = {
      cpu: stepBelow(room.cpu),
      memory: stepBelow(room.memory),
      pods: stepBelow(room.pods),
    };
    const key = `${cell.cpu} ${cell.memory} ${cell.pods}`;
    const nodes = (this.#counts.get(key)?.nodes ?? 0) + by;
    if (nodes === 0) this.#counts.delete(key);
    else this.#counts.set(key, { ...cell, nodes });
  }
}

/** Returns the largest of the steps 1, 1.5, 2, 3, 4, 6, 8, … that is not above `amount`; 0 below 1. */
function stepBelow(amount: number): number {
  if (amount < 1) return 0;
  const power = 2 ** Math.floor(Math.log2(amount));
  return amount >= power * 1.5 ? power * 1.5 : power;
}

/** Returns how many pods of this size fit into the cells, counting each node separately. */
export function fitting(cells: readonly RoomCell[], pod: Room): number {
  let all = 0;
  for (const cell of cells) {
    const byCpu = pod.cpu > 0 ? Math.floor(cell.cpu / pod.cpu) : cell.pods;
    const byMemory = pod.memory > 0 ? Math.floor(cell.memory / pod.memory) : cell.pods;
    all += cell.nodes * Math.max(0, Math.min(byCpu, byMemory, Math.floor(cell.pods)));
  }
  return all;
}
