/**
 * Keeps verdicts on claims by slot of the node table: a decision computes verdicts only for changed nodes and reads the
 * others from a column.
 *
 * Holds  a verdict is valid while the node's static facts, its reachable devices and their allocations have not changed
 *        since it was made.
 * Cost   a look-up is two comparisons; a change costs one step per node that can reach the pool.
 * Bounds `bytesMax` over all columns, but at least two columns; the oldest are removed.
 */
import type { NodeView } from "./pools.ts";

/** Verdict of a node on claims. */
export type Verdict =
  /** `score`: 8 for each first choice taken, 7 for each second, and so on. */
  | { readonly kind: "fits"; readonly score: number }
  | { readonly kind: "refused"; readonly reason: string };

interface Column {
  readonly verdicts: (Verdict | undefined)[];
  /** By slot: the slot's change number and the node's generation at the time of the verdict. */
  readonly changes: Float64Array;
  readonly generations: Float64Array;
}

const bytesMax = 64 * 1024 * 1024;
const bytesPerSlot = 24;
const columnsMin = 2;
const columnsMax = 16;

export class VerdictColumns {
  /** By claim shape, in order of use: the first column is the least recently used one. */
  readonly #columns = new Map<number, Column>();
  readonly #slots = new Map<string, number>();
  /** By pool id: slots of the nodes that reach the pool. */
  readonly #reaching = new Map<string, Set<number>>();
  #changes = new Float64Array(0);
  #lastChange = 0;

  /** Returns the column of a claim shape, with at least `capacity` slots; callers must not change it. */
  of(shape: number, capacity: number): Column {
    if (this.#changes.length < capacity) this.#grow(capacity);
    const known = this.#columns.get(shape);
    if (known !== undefined) return known;
    const size = this.#changes.length;
    const most = Math.floor(bytesMax / (bytesPerSlot * size));
    const oldest = this.#columns.keys().next();
    if (this.#columns.size >= Math.max(columnsMin, Math.min(columnsMax, most)) && !oldest.done) {
      this.#columns.delete(oldest.value);
    }
    const made: Column = {
      verdicts: Array.from({ length: size }, () => undefined),
      changes: new Float64Array(size),
      generations: new Float64Array(size),
    };
    this.#columns.set(shape, made);
    return made;
  }

  get(column: Column, slot: number, generation: number): Verdict | undefined {
    if (column.changes[slot] !== this.#changes[slot]) return undefined;
    return column.generations[slot] === generation ? column.verdicts[slot] : undefined;
  }

  /** Stores a verdict. `at.view` is the node view from which the verdict was made. */
  set(column: Column, at: Place, verdict: Verdict): void {
    const { slot, nodeName, generation, view } = at;
    this.#slots.set(nodeName, slot);
    for (const { id } of view.pools) {
      const slots = this.#reaching.get(id);
      if (slots === undefined) this.#reaching.set(id, new Set([slot]));
      else slots.add(slot);
    }
    column.verdicts[slot] = verdict;
    column.changes[slot] = this.#changes[slot] ?? 0;
    column.generations[slot] = generation;
  }

  /** Invalidates the verdicts of all nodes that reach the pool, after an allocation or release in the pool. */
  poolChanged(id: string): void {
    const slots = this.#reaching.get(id);
    if (slots === undefined) return;
    for (const slot of slots) this.#touch(slot);
    // A slot is added again when its next verdict is stored.
    this.#reaching.delete(id);
  }

  /** Invalidates the node's verdicts after its reachable pools changed or the node was deleted. */
  nodeChanged(name: string): void {
    const slot = this.#slots.get(name);
    if (slot !== undefined) this.#touch(slot);
  }

  clear(): void {
    this.#columns.clear();
    this.#slots.clear();
    this.#reaching.clear();
  }

  #touch(slot: number): void {
    this.#changes[slot] = ++this.#lastChange;
  }

  #grow(capacity: number): void {
    const changes = new Float64Array(capacity);
    changes.set(this.#changes);
    this.#changes = changes;
    this.clear();
  }
}

interface Place {
  readonly slot: number;
  readonly nodeName: string;
  /** Generation of the node in the node table. */
  readonly generation: number;
  readonly view: NodeView;
}
