/**
 * A batch: the records of one commit, in slabs, and the answers that wait until it is durable.
 *
 * Its extents are views of the slabs' own bytes; nothing is copied to be written.
 */
import type { Slab } from "./slabs.ts";

/** An answer, held back until the revision it names is durable. Called exactly once. */
export interface Settlement {
  durable(): void;
  stopped(error: Error): void;
}

interface Extent {
  readonly slab: Slab;
  readonly start: number;
  end: number;
}

export class Batch {
  readonly settlements: Settlement[] = [];
  readonly #extents: Extent[] = [];
  bytes = 0;
  items = 0;
  /** Head revision once this batch is durable. */
  lastRevision: number;

  constructor(lastRevision: number) {
    this.lastRevision = lastRevision;
  }

  /** Counts in a record just written at the end of `slab`. */
  extend(slab: Slab, start: number, size: number): void {
    const last = this.#extents.at(-1);
    if (last !== undefined && last.slab === slab && last.end === start) last.end += size;
    else this.#extents.push({ slab, start, end: start + size });
    this.bytes += size;
    this.items++;
  }

  /** The records, in order, as few buffers as may be. Shared; never changed. */
  buffers(): Uint8Array[] {
    return this.#extents.map(({ slab, start, end }) => slab.bytes.subarray(start, end));
  }
}
