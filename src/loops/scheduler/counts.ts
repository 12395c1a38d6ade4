/**
 * Counts the Pods of each selection on each node, updated as Pods are added and removed.
 *
 * This makes topology spread and affinity cheap: a decision reads sums and never walks Pods.
 * Holds  for every known selection s and slot n: at(s).perSlot[n] = Pods counted on n that s selects.
 * Cost   adding or removing a Pod: one look-up per label, and one match per selection found by it. A new selection: one
 *        pass over all Pods. Bounds: `selectionsMax`, above which the least recently used are removed; `age` removes
 *        unused selections.
 */
import type { NodeTable } from "./node-table.ts";
import type { NamespaceLabels, Selectable, Selection } from "./selection.ts";
import { hintsOf } from "./selection.ts";
import { Tally } from "./tally.ts";

export interface PlacedPod {
  readonly info: Selectable;
  readonly slot: number;
}

interface Counter {
  readonly selection: Selection;
  readonly tally: Tally;
  /** Age in which the counter was last requested. */
  usedAt: number;
}

const selectionsMax = 4_096;
const noHint = "";

export class SelectionCounts {
  readonly #placed: () => Iterable<PlacedPod>;
  readonly #namespaces: NamespaceLabels;
  readonly #nodes: NodeTable;
  /** In order of use: the first counter is the least recently used one. */
  readonly #counters = new Map<string, Counter>();
  readonly #byHint = new Map<string, Set<Counter>>();
  #age = 0;

  constructor(deps: {
    nodes: NodeTable;
    placed: () => Iterable<PlacedPod>;
    namespaces: NamespaceLabels;
  }) {
    this.#nodes = deps.nodes;
    this.#placed = deps.placed;
    this.#namespaces = deps.namespaces;
  }

  /** Returns the tally of a selection; callers must not change it. */
  at(selection: Selection): Tally {
    const known = this.#counters.get(selection.key);
    if (known !== undefined) {
      this.#counters.delete(selection.key);
      this.#counters.set(selection.key, known);
      known.usedAt = this.#age;
      return known.tally;
    }
    return this.#learn(selection).tally;
  }

  get size(): number {
    return this.#counters.size;
  }

  /** Drops the selections that were not requested since the last call. */
  age(): void {
    for (const counter of this.#counters.values()) {
      if (counter.usedAt === this.#age) break;
      this.#forget(counter);
    }
    this.#age++;
  }

  change(pod: PlacedPod, sign: 1 | -1): void {
    if (this.#counters.size === 0) return;
    for (const hint of [noHint, ...hintsOf(pod.info)]) {
      for (const counter of this.#byHint.get(hint) ?? []) this.#count(counter, pod, sign);
    }
  }

  /** Drops the selections by namespace labels after such labels changed; they are computed again at the next request. */
  forgetNamespaceSelections(): void {
    for (const counter of this.#counters.values()) {
      if (counter.selection.byNamespaceLabels) this.#forget(counter);
    }
  }

  #learn(selection: Selection): Counter {
    const counter: Counter = { selection, tally: new Tally(this.#nodes), usedAt: this.#age };
    for (const pod of this.#placed()) this.#count(counter, pod, 1);
    this.#counters.set(selection.key, counter);
    const hint = selection.hint ?? noHint;
    const siblings = this.#byHint.get(hint);
    if (siblings === undefined) this.#byHint.set(hint, new Set([counter]));
    else siblings.add(counter);
    if (this.#counters.size > selectionsMax) {
      const oldest = this.#counters.values().next();
      if (oldest.done !== true) this.#forget(oldest.value);
    }
    return counter;
  }

  #forget(counter: Counter): void {
    this.#counters.delete(counter.selection.key);
    const hint = counter.selection.hint ?? noHint;
    const siblings = this.#byHint.get(hint);
    siblings?.delete(counter);
    if (siblings?.size === 0) this.#byHint.delete(hint);
  }

  #count(counter: Counter, pod: PlacedPod, sign: 1 | -1): void {
    if (!counter.selection.matches(pod.info, this.#namespaces)) return;
    counter.tally.add(pod.slot, sign);
  }
}
