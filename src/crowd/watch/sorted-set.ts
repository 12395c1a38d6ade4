/**
 * Items sorted by key, with snapshots that cost nothing until the next change.
 *
 * Two levels: an array of chunks, each a sorted array of at most `chunkItemsMax` items. A chunk, like
 * the array of chunks, belongs to one set at a time. `snapshot()` gives up ownership on both sides;
 * a set that changes a chunk it does not own copies the chunk first.
 *
 * Invariants: keys rise strictly across and within chunks; no chunk is empty; `size` is their sum.
 * Cost, n items: get O(log n); set and delete O(log n + chunk) and O(n / chunk) when a chunk splits
 * or after a snapshot; countRange O(n / chunk).
 * Why not a B-tree with more levels: at 1,000,000 items the top array has about 8,000 entries, so a change after a
 * snapshot copies 64 KB once.
 */
import { assert } from "#base/assert.ts";

interface Keyed {
  readonly key: string;
}

interface Chunk<T> {
  items: T[];
  owner: object;
}

const chunkItemsMax = 256;
const chunkItemsFill = 192;

export class SortedSet<T extends Keyed> {
  #chunks: Chunk<T>[];
  #chunksOwned = true;
  #owner: object = {};
  #size: number;

  private constructor(chunks: Chunk<T>[], size: number) {
    this.#chunks = chunks;
    this.#size = size;
  }

  /** Creates a set from items with strictly rising keys. */
  static from<T extends Keyed>(items: readonly T[]): SortedSet<T> {
    const set = new SortedSet<T>([], items.length);
    for (let start = 0; start < items.length; start += chunkItemsFill) {
      const chunk = items.slice(start, start + chunkItemsFill);
      set.#chunks.push({ items: chunk, owner: set.#owner });
    }
    for (let i = 1; i < items.length; i++) fromCheck(items[i - 1], items[i]);
    return set;
  }

  get size(): number {
    return this.#size;
  }

  /** A copy-on-write snapshot: later changes of either side are not visible to the other. */
  snapshot(): SortedSet<T> {
    this.#owner = {};
    this.#chunksOwned = false;
    const twin = new SortedSet<T>(this.#chunks, this.#size);
    twin.#chunksOwned = false;
    return twin;
  }

  get(key: string): T | undefined {
    const chunk = this.#chunks[this.#chunkOf(key)];
    if (chunk === undefined) return undefined;
    const item = chunk.items[lowerBound(chunk.items, key)];
    return item?.key === key ? item : undefined;
  }

  /** @returns the item it replaced. */
  set(item: T): T | undefined {
    if (this.#chunks.length === 0) return this.#setFirst(item);
    const index = this.#chunkOf(item.key);
    const { items } = this.#own(index);
    const at = lowerBound(items, item.key);
    const old = items[at];
    if (old?.key === item.key) {
      items[at] = item;
      return old;
    }
    items.splice(at, 0, item);
    this.#size++;
    if (items.length > chunkItemsMax) this.#split(index);
    return undefined;
  }

  /** @returns the deleted item. */
  delete(key: string): T | undefined {
    const old = this.get(key);
    if (old === undefined) return undefined;
    const index = this.#chunkOf(key);
    const { items } = this.#own(index);
    items.splice(lowerBound(items, key), 1);
    this.#size--;
    if (items.length === 0) this.#chunks.splice(index, 1);
    return old;
  }

  /** Calls `visit` for keys in [from, to) in order, until it returns false. */
  scan(from: string, to: string, visit: (item: T) => boolean): void {
    const chunks = this.#chunks;
    for (let c = this.#chunkOf(from); c < chunks.length; c++) {
      const items = chunks[c]?.items ?? [];
      const start = (items[0]?.key ?? "") < from ? lowerBound(items, from) : 0;
      for (let i = start; i < items.length; i++) {
        const item = items[i];
        if (item === undefined || item.key >= to || !visit(item)) return;
      }
    }
  }

  /** All items in key order. The set must not change meanwhile; a snapshot does not. */
  *[Symbol.iterator](): Generator<T> {
    for (const { items } of this.#chunks) yield* items;
  }

  /** Items with keys in [from, to). */
  countRange(from: string, to: string): number {
    return this.#rank(to) - this.#rank(from);
  }

  /** Number of items with keys below `key`. */
  #rank(key: string): number {
    const index = this.#chunkOf(key);
    let rank = 0;
    for (let c = 0; c < index; c++) rank += this.#chunks[c]?.items.length ?? 0;
    return rank + lowerBound(this.#chunks[index]?.items ?? [], key);
  }

  /** The last chunk whose first key is at most `key`; 0 when there is none. */
  #chunkOf(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.items[0]?.key ?? "") <= key) low = middle;
      else high = middle;
    }
    return low;
  }

  #setFirst(item: T): undefined {
    this.#ownChunks();
    this.#chunks.push({ items: [item], owner: this.#owner });
    this.#size = 1;
    return undefined;
  }

  #ownChunks(): void {
    if (this.#chunksOwned) return;
    this.#chunks = this.#chunks.slice();
    this.#chunksOwned = true;
  }

  /** The chunk at `index`, copied first if a snapshot shares it. */
  #own(index: number): Chunk<T> {
    this.#ownChunks();
    const chunk = this.#chunks[index];
    assert(chunk !== undefined, "no such chunk", { index });
    if (chunk.owner === this.#owner) return chunk;
    const copy = { items: chunk.items.slice(), owner: this.#owner };
    this.#chunks[index] = copy;
    return copy;
  }

  #split(index: number): void {
    const chunk = this.#own(index);
    const upper = chunk.items.splice(chunk.items.length >>> 1);
    this.#chunks.splice(index + 1, 0, { items: upper, owner: this.#owner });
  }
}

/** Index of the first item whose key is at least `key`. */
function lowerBound(items: readonly Keyed[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && item.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function fromCheck(before: Keyed | undefined, after: Keyed | undefined): void {
  if (before === undefined || after === undefined || before.key < after.key) return;
  assert(false, "keys do not rise", { before: before.key, after: after.key });
}
