/**
 * Live cursors in portions that are served together: what one turn of the event loop may bring to sockets,
 * and one position for all of them, so that falling behind together costs nothing per cursor.
 *
 * Holds  a slice has at most `cursorsMax` cursors, and none is empty. Its cursors have got every event that
 *        concerns them up to `behindAt`, or to the dispatched position when that is undefined.
 * Cost   add and remove O(1); finding room again after departures O(slices).
 */
import { assert } from "#base/assert.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { KnownState } from "./cache-state.ts";
import type { Cursor, CursorSlice } from "./cursor.ts";
import type { SharedSelection } from "./shared-selection.ts";

/** Where a slice that waited reads what it has not got. */
export interface SliceSource {
  readonly state: KnownState;
  readonly selection: SharedSelection;
  readonly dispatched: number;
}

export class Slice implements CursorSlice {
  readonly cursors = new Set<Cursor>();
  behindAt: number | undefined;
  /** Cursors that get a bookmark once they reach the dispatched position: before, it has no checksum. */
  readonly #bookmarksDue: Cursor[] = [];

  bookmarkLater(cursor: Cursor): void {
    this.#bookmarksDue.push(cursor);
  }

  /**
   * Serves a slice that waited, up to the dispatched position. Once the ring no longer holds its position,
   * its cursors catch up one by one.
   */
  catchUp(source: SliceSource): void {
    // Without cursors it is no part of the cache any more: the feed may have begun anew below its position.
    const [first] = this.cursors;
    if (first === undefined) return;
    let at = this.behindAt ?? source.dispatched;
    assert(at <= source.dispatched, "a slice is ahead of dispatch");
    while (at < source.dispatched && this.cursors.size > 0) {
      if (at < source.state.floor) return this.#dissolve(at);
      const events = source.state.ringAfter(at, source.dispatched, first.latest);
      const last = events.at(-1)?.revision;
      if (last === undefined) break;
      if (first.predicate.selective)
        for (const cursor of this.cursors) cursor.serve(events, at, last);
      else this.#serveAlike(source, events, last);
      this.behindAt = at = last;
    }
    this.behindAt = undefined;
    for (const cursor of this.#bookmarksDue.splice(0)) cursor.bookmark();
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

  /** The ring has forgotten where the slice is: each of its cursors reads on alone. */
  #dissolve(at: number): void {
    const cursors = [...this.cursors];
    for (const cursor of cursors) cursor.fallBehind(at);
    this.behindAt = undefined;
    this.#bookmarksDue.length = 0;
    for (const cursor of cursors) cursor.resume();
  }
}

/** The slices of one bucket and one kind of cursor. */
export class Slices {
  readonly #cursorsMax: number;
  readonly #slices: Slice[] = [];
  #size = 0;

  constructor(cursorsMax: number) {
    this.#cursorsMax = cursorsMax;
  }

  /** Cursors in all of them. */
  get size(): number {
    return this.#size;
  }

  get all(): readonly Slice[] {
    return this.#slices;
  }

  add(cursor: Cursor): Slice {
    let slice = this.#slices.at(-1);
    if (slice === undefined || slice.cursors.size >= this.#cursorsMax) slice = this.#withRoom();
    slice.cursors.add(cursor);
    this.#size++;
    assert(slice.cursors.size <= this.#cursorsMax, "a slice has too many cursors");
    return slice;
  }

  remove(cursor: Cursor, slice: CursorSlice): void {
    assert(slice.cursors.delete(cursor), "a cursor leaves a slice that it is not in");
    this.#size--;
    if (slice.cursors.size > 0) return;
    const at = this.#slices.findIndex((known) => known === slice);
    assert(at >= 0, "a slice leaves slices that it is not in");
    this.#slices.splice(at, 1);
  }

  #withRoom(): Slice {
    const known = this.#slices.find(({ cursors }) => cursors.size < this.#cursorsMax);
    if (known !== undefined) return known;
    const slice = new Slice();
    this.#slices.push(slice);
    return slice;
  }
}
