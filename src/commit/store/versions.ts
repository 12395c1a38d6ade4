/**
 * The version table: one row per (key, revision) the store holds, in typed-array columns.
 *
 * Row 0 is "none". A row refers to its record's place in a slab, and to the next older row of its key.
 * Cost: per row 49 bytes off the heap and one string reference; the garbage collector walks nothing
 * but the keys. The table is chunked, so growing never copies, and a chunk without a row in use is given back. A new
 * row takes the lowest chunk that has a free place: after a busy time the remaining rows gather there.
 */
import { must } from "#base/assert.ts";
import type { Key, LeaseId, VersionView } from "./store.ts";

export type Row = number;
export const noRow: Row = 0;

/** Value length that marks a row as a deletion. */
const tombstone = -1;
/** Small, because after a busy time a single remaining row keeps its whole chunk in memory. */
const chunkBits = 8;
export const chunkRows = 1 << chunkBits;
const chunkMask = chunkRows - 1;
/** Bytes per row in all columns except the key. */
const rowBytes = 4 * 8 + 4 * 4 + 1;

interface Chunk {
  /** Number of rows in use. */
  used: number;
  /** Head of the free list: one more than the place of a freed row, 0: none. `previous` of that row links the next. */
  free: number;
  /** Places from here on have never been used. */
  next: number;
  readonly revision: Float64Array;
  readonly createRevision: Float64Array;
  readonly version: Float64Array;
  readonly slab: Int32Array;
  readonly offset: Uint32Array;
  readonly valueLength: Int32Array;
  readonly previous: Int32Array;
  readonly lease: BigInt64Array;
  readonly leased: Uint8Array;
  readonly key: (string | undefined)[];
}

export interface VersionFields {
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  readonly version: number;
  readonly lease: bigint;
  readonly slab: number;
  /** Offset of the record in the slab. */
  readonly offset: number;
  readonly valueLength: number;
}

/** A VersionView while it is being filled. */
export type RowView = { -readonly [Field in keyof VersionView]: VersionView[Field] } & {
  /** Offset of the record in the slab. */
  offset: number;
};

export class Versions {
  /** Undefined: no row of the chunk is in use. */
  readonly #chunks: (Chunk | undefined)[] = [];
  /** No chunk before this one has a free row. */
  #lowest = 0;
  #end: Row = 1;
  #size = 0;
  #held = 0;

  /** Number of rows in use. */
  get size(): number {
    return this.#size;
  }

  /** Number of allocated chunks. */
  get chunks(): number {
    return this.#held;
  }

  /** All rows in use are below this one. */
  get end(): Row {
    return this.#end;
  }

  add(fields: VersionFields, previous: Row): Row {
    const row = this.#take();
    const chunk = this.#chunk(row);
    const i = row & chunkMask;
    chunk.revision[i] = fields.revision;
    chunk.createRevision[i] = fields.createRevision;
    chunk.version[i] = fields.version;
    chunk.slab[i] = fields.slab;
    chunk.offset[i] = fields.offset;
    chunk.valueLength[i] = fields.valueLength;
    chunk.previous[i] = previous;
    chunk.leased[i] = fields.lease === 0n ? 0 : 1;
    if (fields.lease !== 0n) chunk.lease[i] = fields.lease;
    chunk.key[i] = fields.key;
    return row;
  }

  addTombstone(key: string, revision: number, previous: Row): Row {
    const row = this.#take();
    const chunk = this.#chunk(row);
    const i = row & chunkMask;
    chunk.revision[i] = revision;
    chunk.valueLength[i] = tombstone;
    chunk.previous[i] = previous;
    chunk.leased[i] = 0;
    chunk.key[i] = key;
    return row;
  }

  remove(row: Row): void {
    const chunk = this.#chunk(row);
    chunk.key[row & chunkMask] = undefined;
    chunk.revision[row & chunkMask] = 0;
    const at = row >> chunkBits;
    chunk.previous[row & chunkMask] = chunk.free;
    chunk.free = (row & chunkMask) + 1;
    if (--chunk.used === 0) {
      this.#chunks[at] = undefined;
      this.#held--;
    }
    this.#lowest = Math.min(this.#lowest, at);
    this.#size--;
  }

  inUse(row: Row): boolean {
    return this.#chunks[row >> chunkBits]?.key[row & chunkMask] !== undefined;
  }

  key(row: Row): string {
    return this.#chunk(row).key[row & chunkMask] as string;
  }

  revision(row: Row): number {
    return this.#chunk(row).revision[row & chunkMask] as number;
  }

  createRevision(row: Row): number {
    return this.#chunk(row).createRevision[row & chunkMask] as number;
  }

  version(row: Row): number {
    return this.#chunk(row).version[row & chunkMask] as number;
  }

  slab(row: Row): number {
    return this.#chunk(row).slab[row & chunkMask] as number;
  }

  offset(row: Row): number {
    return this.#chunk(row).offset[row & chunkMask] as number;
  }

  valueLength(row: Row): number {
    return this.#chunk(row).valueLength[row & chunkMask] as number;
  }

  isTombstone(row: Row): boolean {
    return this.valueLength(row) === tombstone;
  }

  previous(row: Row): Row {
    return this.#chunk(row).previous[row & chunkMask] as Row;
  }

  lease(row: Row): LeaseId {
    const chunk = this.#chunk(row);
    const i = row & chunkMask;
    return (chunk.leased[i] === 0 ? 0n : (chunk.lease[i] as bigint)) as LeaseId;
  }

  setPrevious(row: Row, previous: Row): void {
    this.#chunk(row).previous[row & chunkMask] = previous;
  }

  /** Updates the location of the row's record, which was copied. */
  move(row: Row, slab: number, offset: number): void {
    const chunk = this.#chunk(row);
    chunk.slab[row & chunkMask] = slab;
    chunk.offset[row & chunkMask] = offset;
  }

  /** Moves the row to the lowest chunk with room. @returns its new number, or the old one if that chunk is not lower. */
  lower(row: Row): Row {
    if (this.#findRoom() >= row >> chunkBits) return row;
    const from = this.#chunk(row);
    const i = row & chunkMask;
    const to = this.#take();
    copyRow(this.#chunk(to), to & chunkMask, from, i);
    this.remove(row);
    return to;
  }

  /** Fills `view` except for the bytes; all columns of a row are in one chunk. @returns the slab. */
  show(row: Row, view: RowView): number {
    const chunk = this.#chunk(row);
    const i = row & chunkMask;
    view.key = chunk.key[i] as Key;
    view.offset = chunk.offset[i] as number;
    view.valueLength = chunk.valueLength[i] as number;
    view.createRevision = chunk.createRevision[i] as number;
    view.modRevision = chunk.revision[i] as number;
    view.version = chunk.version[i] as number;
    view.lease = (chunk.leased[i] === 0 ? 0n : chunk.lease[i]) as LeaseId;
    return chunk.slab[i] as number;
  }

  /** @returns the lowest chunk with room. */
  #findRoom(): number {
    for (; ; this.#lowest++) {
      const chunk = this.#chunks[this.#lowest];
      if (chunk === undefined || chunk.free > 0 || chunk.next < chunkRows) return this.#lowest;
    }
  }

  #take(): Row {
    const at = this.#findRoom();
    const chunk = this.#chunks[at] ?? this.#addChunk(at);
    const row = (at << chunkBits) | takePlace(chunk);
    chunk.used++;
    this.#size++;
    this.#end = Math.max(this.#end, row + 1);
    return row;
  }

  #addChunk(at: number): Chunk {
    // Row 0 means "none" and is never assigned.
    const chunk = newChunk(at === 0 ? 1 : 0);
    this.#chunks[at] = chunk;
    this.#held++;
    return chunk;
  }

  #chunk(row: Row): Chunk {
    return must(this.#chunks[row >> chunkBits], "no such row");
  }
}

function takePlace(chunk: Chunk): number {
  if (chunk.free === 0) return chunk.next++;
  const place = chunk.free - 1;
  chunk.free = chunk.previous[place] as number; // within the column
  return place;
}

function copyRow(to: Chunk, at: number, from: Chunk, i: number): void {
  to.revision[at] = from.revision[i] as number;
  to.createRevision[at] = from.createRevision[i] as number;
  to.version[at] = from.version[i] as number;
  to.slab[at] = from.slab[i] as number;
  to.offset[at] = from.offset[i] as number;
  to.valueLength[at] = from.valueLength[i] as number;
  to.previous[at] = from.previous[i] as number;
  to.leased[at] = from.leased[i] as number;
  to.lease[at] = from.lease[i] as bigint;
  to.key[at] = from.key[i];
}

/** One allocation for all columns. */
function newChunk(next: number): Chunk {
  const bytes = new ArrayBuffer(chunkRows * rowBytes);
  let at = 0;
  const column = (width: number): [ArrayBuffer, number, number] => {
    const start = at;
    at += chunkRows * width;
    return [bytes, start, chunkRows];
  };
  return {
    used: 0,
    free: 0,
    next,
    revision: new Float64Array(...column(8)),
    createRevision: new Float64Array(...column(8)),
    version: new Float64Array(...column(8)),
    lease: new BigInt64Array(...column(8)),
    slab: new Int32Array(...column(4)),
    offset: new Uint32Array(...column(4)),
    valueLength: new Int32Array(...column(4)),
    previous: new Int32Array(...column(4)),
    leased: new Uint8Array(...column(1)),
    key: emptyKeys(),
  };
}

/** Ten times as fast as Array.from, which would hold the loop for a millisecond. */
function emptyKeys(): (string | undefined)[] {
  const keys: (string | undefined)[] = [];
  keys.length = chunkRows;
  return keys.fill(undefined);
}
