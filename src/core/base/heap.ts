/**
 * Binary min-heap: the least item by `compare` first. Ties come out in no promised order.
 *
 * Cost: push and pop O(log n), peek O(1). Unbounded by itself: the owner bounds what it pushes.
 */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#up(this.#items.length - 1);
  }

  pop(): T | undefined {
    const least = this.#items[0];
    const last = this.#items.pop();
    if (this.#items.length > 0) {
      this.#items[0] = last as T;
      this.#down(0);
    }
    return least;
  }

  /** Drops every item for which `keep` returns false; O(n). */
  filter(keep: (item: T) => boolean): void {
    const kept = this.#items.filter(keep);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }

  #up(from: number): void {
    const items = this.#items;
    const item = items[from] as T;
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#compare(item, items[parent] as T) >= 0) break;
      items[i] = items[parent] as T;
      i = parent;
    }
    items[i] = item;
  }

  #down(from: number): void {
    const items = this.#items;
    const item = items[from] as T;
    let i = from;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= items.length) break;
      const right = child + 1;
      if (right < items.length && this.#compare(items[right] as T, items[child] as T) < 0) {
        child = right;
      }
      if (this.#compare(items[child] as T, item) >= 0) break;
      items[i] = items[child] as T;
      i = child;
    }
    items[i] = item;
  }
}
