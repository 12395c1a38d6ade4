/**
 * Bounded queue over a circular array: a window of the last `capacity` items pushed.
 *
 * Items carry absolute indices that only grow: index i stays i while the item is held, so a cursor
 * is one number. Holds [oldest, next). Cost: push, shift and get O(1).
 */
import { assert } from "./assert.ts";

export class Ring<T> {
  readonly capacity: number;
  readonly #slots: (T | undefined)[];
  #oldest = 0;
  #next = 0;

  constructor(capacity: number) {
    assert(Number.isSafeInteger(capacity) && capacity > 0, "ring needs a capacity", { capacity });
    this.capacity = capacity;
    this.#slots = Array.from<T | undefined>({ length: capacity });
  }

  get size(): number {
    return this.#next - this.#oldest;
  }

  /** Index of the oldest item; equals `next` when the ring is empty. */
  get oldest(): number {
    return this.#oldest;
  }

  /** Index that the next pushed item will have. */
  get next(): number {
    return this.#next;
  }

  get isFull(): boolean {
    return this.size === this.capacity;
  }

  /** Adds an item. @returns the oldest item, which was removed because the ring was full. */
  push(item: T): T | undefined {
    const dropped = this.isFull ? this.shift() : undefined;
    this.#slots[this.#next % this.capacity] = item;
    this.#next++;
    return dropped;
  }

  /** Removes and returns the oldest item. */
  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const slot = this.#oldest % this.capacity;
    const item = this.#slots[slot];
    this.#slots[slot] = undefined;
    this.#oldest++;
    return item;
  }

  /** Returns the item with that absolute index; undefined when it is not in the ring, or not any more. */
  get(index: number): T | undefined {
    if (index < this.#oldest || index >= this.#next) return undefined;
    return this.#slots[index % this.capacity];
  }

  clear(): void {
    this.#slots.fill(undefined);
    this.#oldest = this.#next;
  }
}
