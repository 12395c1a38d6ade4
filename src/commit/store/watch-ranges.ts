/**
 * Finds which of many [start, end) ranges contain a key: it keeps the cut points of all ranges, sorted, and for each
 * interval between two of them the ranges that cover it.
 *
 * Cost   `at` O(log ranges); rebuilt lazily after a change, O(sum of list lengths). Ranges here are
 *        few, or many but narrow, so lists stay short.
 */
interface Range {
  readonly start: string;
  readonly end: string;
}

const none: readonly never[] = [];

export class WatchRanges<R extends Range> {
  readonly #ranges = new Set<R>();
  #cuts: string[] = [];
  /** #lists[i] covers [#cuts[i], #cuts[i + 1]). */
  #lists: R[][] = [];
  #stale = false;

  get size(): number {
    return this.#ranges.size;
  }

  all(): R[] {
    return [...this.#ranges];
  }

  add(range: R): void {
    this.#ranges.add(range);
    this.#stale = true;
  }

  remove(range: R): void {
    this.#ranges.delete(range);
    this.#stale = true;
  }

  /** The ranges that contain `key`, in order of insertion. Later changes do not affect the result. */
  at(key: string): readonly R[] {
    if (this.#stale) this.#rebuild();
    return this.#lists[this.#interval(key)] ?? none;
  }

  /** Last i with #cuts[i] <= key, or -1. */
  #interval(key: string): number {
    const cuts = this.#cuts;
    let low = 0;
    let high = cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cuts[middle] as string) <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #rebuild(): void {
    this.#stale = false;
    const points = new Set<string>();
    for (const { start, end } of this.#ranges) if (start < end) points.add(start).add(end);
    this.#cuts = [...points].toSorted((a, b) => (a < b ? -1 : 1));
    this.#lists = this.#cuts.map(() => []);
    for (const range of this.#ranges) this.#place(range);
  }

  #place(range: R): void {
    if (range.start >= range.end) return;
    const cuts = this.#cuts;
    for (let i = this.#interval(range.start); (cuts[i] as string) < range.end; i++) {
      (this.#lists[i] as R[]).push(range);
    }
  }
}
