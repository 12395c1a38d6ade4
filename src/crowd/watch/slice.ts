/**
 * Live cursors in portions that are served together. A slice is as large as one turn of the event loop can serve
 * sockets. Its cursors share one position, so falling behind together costs nothing per cursor.
 *
 * Holds  a slice has at most `cursorsMax` cursors, and none is empty. `selectorSizeMax` bounds the sum of their
 *        selectors, unless a single one is larger. The cursors of a slice have got every event that concerns them
 *        up to `behindAt`, or up to the dispatched position when `behindAt` is undefined.
 * Cost   add and remove O(1); finding free room after cursors have left O(slices).
 */
import { assert } from "#base/assert.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { KnownState } from "./cache-state.ts";
import type { Cursor, CursorSlice } from "./cursor.ts";
import { judgedPortion, lookupsOf } from "./judged-portion.ts";
import type { SharedSelection } from "./shared-selection.ts";

/** The source from which a slice that waited reads the events it missed. */
export interface SliceSource {
  readonly state: KnownState;
  readonly selection: SharedSelection;
  readonly dispatched: number;
}

export class Slice implements CursorSlice {
  readonly cursors = new Set<Cursor>();
  /** Sum of the keys and values of the cursors' selectors. */
  selectorSize = 0;
  behindAt: number | undefined;
  /** Cursors that get a bookmark once they reach the dispatched position; before that there is no checksum for it. */
  readonly #bookmarksDue: Cursor[] = [];

  bookmarkLater(cursor: Cursor): void {
    this.#bookmarksDue.push(cursor);
  }

  /**
   * Serves a slice that waited, up to the dispatched position or until about `lookups` look-ups have been made for its
   * selectors; `behindAt` shows which. Once the ring no longer holds its position, its cursors catch up one by one.
   * @returns the number of look-ups it made.
   */
  catchUp(source: SliceSource, lookups: number): number {
    // A slice without cursors has left the cache; the feed may have been reset below its position.
    const [first] = this.cursors;
    if (first === undefined) return 0;
    let left = lookups;
    let at = this.behindAt ?? source.dispatched;
    assert(at <= source.dispatched, "a slice is ahead of dispatch");
    while (at < source.dispatched && this.cursors.size > 0) {
      if (left <= 0) return lookups - left;
      if (at < source.state.floor) {
        this.#dissolve(at);
        return lookups - left;
      }
      const read = source.state.ringAfter(at, source.dispatched, first.latest);
      const events = judgedPortion(read, this.judges, left);
      const last = events.at(-1)?.revision;
      if (last === undefined) break;
      left -= lookupsOf(events, this.judges);
      if (first.predicate.selective)
        for (const cursor of this.cursors) cursor.serve(events, at, last);
      else this.#serveAlike(source, events, last);
      this.behindAt = at = last;
    }
    this.behindAt = undefined;
    for (const cursor of this.#bookmarksDue.splice(0)) cursor.bookmark();
    return lookups - left;
  }

  /** Its selectors, in the form `judged-portion.ts` takes. */
  get judges(): { readonly size: number; readonly count: number } {
    return { size: this.selectorSize, count: this.cursors.size };
  }

  /** Cursors without selectors see exactly what their slice selects, so their predicates are not evaluated. */
  #serveAlike(source: SliceSource, events: readonly CacheEvent[], last: number): void {
    const [first] = this.cursors;
    if (first === undefined) return;
    const { selection } = source;
    const base = this.behindAt ?? source.dispatched;
    const { items, coalesced } = selection.of(events, first);
    for (const cursor of this.cursors) {
      cursor.offer(items, base, last);
      if (coalesced > 0 && cursor.live) selection.coalesced += coalesced;
    }
  }

  /** The ring no longer has the slice's position: each of its cursors continues alone. */
  #dissolve(at: number): void {
    const cursors = [...this.cursors];
    for (const cursor of cursors) cursor.fallBehind(at);
    this.behindAt = undefined;
    this.#bookmarksDue.length = 0;
    for (const cursor of cursors) cursor.resume();
  }
}

interface SlicesOptions {
  readonly cursorsMax: number;
  readonly selectorSizeMax: number;
}

/** The slices of one bucket and one kind of cursor. */
export class Slices {
  readonly #options: SlicesOptions;
  readonly #slices: Slice[] = [];
  #size = 0;
  #selectorSize = 0;

  constructor(options: SlicesOptions) {
    this.#options = options;
  }

  /** Number of cursors in all slices. */
  get size(): number {
    return this.#size;
  }

  get all(): readonly Slice[] {
    return this.#slices;
  }

  /** The selectors of all slices, in the form `judged-portion.ts` takes. */
  get judges(): { readonly size: number; readonly count: number } {
    return { size: this.#selectorSize, count: this.#size };
  }

  add(cursor: Cursor): Slice {
    const { size } = cursor.predicate;
    let slice = this.#slices.at(-1);
    if (slice === undefined || !this.#hasRoom(slice, size)) slice = this.#withRoom(size);
    slice.cursors.add(cursor);
    slice.selectorSize += size;
    this.#size++;
    this.#selectorSize += size;
    assert(slice.cursors.size <= this.#options.cursorsMax, "a slice has too many cursors");
    return slice;
  }

  remove(cursor: Cursor, left: CursorSlice): void {
    const at = this.#slices.findIndex((known) => known === left);
    const slice = this.#slices[at];
    assert(slice !== undefined, "a slice leaves slices that it is not in");
    assert(slice.cursors.delete(cursor), "a cursor leaves a slice that it is not in");
    slice.selectorSize -= cursor.predicate.size;
    this.#size--;
    this.#selectorSize -= cursor.predicate.size;
    if (slice.cursors.size === 0) this.#slices.splice(at, 1);
  }

  #hasRoom({ cursors, selectorSize }: Slice, size: number): boolean {
    const { cursorsMax, selectorSizeMax } = this.#options;
    return cursors.size < cursorsMax && selectorSize + size <= selectorSizeMax;
  }

  #withRoom(size: number): Slice {
    const known = this.#slices.find((slice) => this.#hasRoom(slice, size));
    if (known !== undefined) return known;
    const slice = new Slice();
    this.#slices.push(slice);
    return slice;
  }
}
