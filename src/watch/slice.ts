/**
 * Live cursors in portions that are served together: what one turn of the host's loop may bring to
 * sockets, and one position for all of them, so that falling behind together costs nothing per cursor.
 *
 * Holds  a slice has at most `cursorsMax` cursors, and none is empty.
 * Cost   add and remove O(1); finding room again after departures O(slices).
 */
import type { Cursor } from "./cursor.ts";

export class Slice {
  readonly cursors = new Set<Cursor>();
  /** The cursors have got every event up to here; undefined: up to the dispatched position. */
  behindAt: number | undefined;
  /** Cursors that get a bookmark once they reach the dispatched position: before, it has no checksum. */
  bookmarksDue: Cursor[] = [];
}

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
    if (slice === undefined || slice.cursors.size >= this.#cursorsMax) slice = this.#roomy();
    slice.cursors.add(cursor);
    this.#size++;
    return slice;
  }

  remove(cursor: Cursor, slice: Slice): void {
    if (!slice.cursors.delete(cursor)) return;
    this.#size--;
    if (slice.cursors.size > 0) return;
    const at = this.#slices.indexOf(slice);
    if (at >= 0) this.#slices.splice(at, 1);
  }

  #roomy(): Slice {
    const known = this.#slices.find(({ cursors }) => cursors.size < this.#cursorsMax);
    if (known !== undefined) return known;
    const slice = new Slice();
    this.#slices.push(slice);
    return slice;
  }
}
