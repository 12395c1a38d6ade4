/**
 * The recent past of one resource: events in revision order, bounded by count and bytes.
 *
 * Invariant: the ring has every event of the resource with a revision above `floor`; revisions rise, and
 * the events of one revision are added and removed together.
 * Cost: push O(1) amortised; find O(log n). Memory grows with use up to the bound, and is freed when the past
 * is forgotten.
 */
import { assert } from "#base/assert.ts";
import type { CacheEvent } from "./cache-event.ts";

/** Maximum bytes of objects in one batch for one watcher, exceeded by at most one revision. */
export const batchBytesMax = 1 << 20;
const eventsMax = 1_000;
/** `forget` keeps this many events that no reader needs, as many as upstream's cache has room for at least ... */
const pastItemsMax = 100;
/** ... and at most this many bytes of them, because each resource has a ring. */
const pastBytesMax = 32 * 1024;

export class EventRing {
  readonly #itemsMax: number;
  readonly #bytesMax: number;
  #events: CacheEvent[] = [];
  #head = 0;
  #bytes = 0;
  #floor: number;

  constructor(floor: number, options: { itemsMax: number; bytesMax: number }) {
    this.#floor = floor;
    this.#itemsMax = options.itemsMax;
    this.#bytesMax = options.bytesMax;
  }

  /** The highest revision whose events may be missing. */
  get floor(): number {
    return this.#floor;
  }

  get length(): number {
    return this.#events.length - this.#head;
  }

  /** Appends all events of one revision, which must be higher than all earlier ones. */
  push(events: readonly CacheEvent[]): void {
    const newest = this.#events.at(-1)?.revision ?? this.#floor;
    for (const { revision } of events) assert(revision > newest, "revisions of a ring must rise");
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += event.bytes;
    }
    while (this.length > 0 && (this.length > this.#itemsMax || this.#bytes > this.#bytesMax)) {
      this.#dropOldest();
    }
    assert(
      this.#bytes >= 0 && (this.#bytes === 0 || this.length > 0),
      "a ring counts bytes it has not",
    );
    if (this.#head > 64 && this.#head > this.length) this.#compact();
  }

  /**
   * Returns whole revisions after `after` (at least `floor`) and up to `upTo`, about `eventsMax` events or
   * `batchBytesMax`; never a part of a revision.
   */
  after(after: number, upTo: number): readonly CacheEvent[] {
    const start = this.#find(after);
    const last = Math.min(start + eventsMax, this.#find(upTo));
    let end = start;
    for (let bytes = 0; end < last && bytes < batchBytesMax; end++) {
      bytes += this.#events[end]?.sentBytes ?? 0;
    }
    return this.#wholeFrom(start, end);
  }

  /** Like `after`, for latest-state watchers: the merged form of the events has about `batchBytesMax`. */
  afterForLatest(after: number, upTo: number): readonly CacheEvent[] {
    const start = this.#find(after);
    const last = this.#find(upTo);
    const keys = new Set<string>();
    let end = start;
    for (let bytes = 0; end < last && bytes < batchBytesMax; end++) {
      const event = this.#events[end];
      if (event === undefined || keys.has(event.key)) continue;
      keys.add(event.key);
      bytes += event.sentBytes;
    }
    return this.#wholeFrom(start, end);
  }

  #wholeFrom(start: number, cut: number): readonly CacheEvent[] {
    let end = cut;
    while (end > start && end < this.#events.length && this.#same(end - 1, end)) end++;
    return this.#events.slice(start, end);
  }

  /** Visits events with revisions above `after`, newest first. */
  newestFirst(after: number, visit: (event: CacheEvent) => void): void {
    for (let i = this.#events.length - 1; i >= this.#head; i--) {
      const event = this.#events[i];
      if (event === undefined || event.revision <= after) return;
      visit(event);
    }
  }

  /** Whether `key` changed at `revision` (the whole revision or a part of it). */
  holds(revision: number, key: string): boolean {
    for (let i = this.#find(revision - 1); i < this.#events.length; i++) {
      const event = this.#events[i];
      if (event === undefined || event.revision >= revision + 1) return false;
      if (event.revision >= revision && event.key === key) return true;
    }
    return false;
  }

  /** Of the events up to `mark`, keeps the newest: at most `pastItemsMax` of them and `pastBytesMax` bytes. */
  forget(mark: number): void {
    let items = this.#find(mark) - this.#head;
    let bytes = 0;
    for (let i = this.#head; i < this.#head + items; i++) bytes += this.#events[i]?.bytes ?? 0;
    while (items > 0 && (items > pastItemsMax || bytes > pastBytesMax)) {
      const before = { items: this.length, bytes: this.#bytes };
      this.#dropOldest();
      items -= before.items - this.length;
      bytes -= before.bytes - this.#bytes;
    }
    this.#compact();
  }

  /** Events up to `mark`, oldest first. Releases the events that were dropped. */
  upTo(mark: number): readonly CacheEvent[] {
    this.#compact();
    return this.#events.slice(0, this.#find(mark));
  }

  #dropOldest(): void {
    do {
      const event = this.#events[this.#head++];
      if (event === undefined) return;
      this.#bytes -= event.bytes;
      this.#floor = event.revision;
      event.release();
    } while (this.#same(this.#head - 1, this.#head));
  }

  #same(a: number, b: number): boolean {
    const revision = this.#events[b]?.revision;
    return revision !== undefined && this.#events[a]?.revision === revision;
  }

  /** Dropped events stay referenced until this runs; there are at most as many as retained ones. */
  #compact(): void {
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }

  #find(after: number): number {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.revision ?? 0) <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
