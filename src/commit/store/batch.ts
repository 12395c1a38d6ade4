/**
 * Batches of records on their way to the engine, and the callers that wait until each batch is durable. No I/O.
 *
 *   filling ── begin ─▶ in flight ── end ─▶ durable
 *
 * B1  Batches become durable in order.
 * B2  A batch holds all revisions after the previous batch, up to its own `lastRevision`.
 *
 * A batch's extents are views of the slabs' own bytes; nothing is copied to be written.
 */
import { assert } from "#base/assert.ts";
import type { After, Effect } from "./command.ts";
import type { Slab } from "./slabs.ts";
import type { Submission } from "./submission.ts";

interface Extent {
  readonly slab: Slab;
  readonly start: number;
  end: number;
}

export class Batch {
  /** Effects to be carried out before the callers are answered. */
  readonly effects: Effect[] = [];
  readonly submissions: Submission[] = [];
  readonly #extents: Extent[] = [];
  bytes = 0;
  items = 0;
  /** Head revision when this batch is durable. */
  lastRevision: number;

  constructor(lastRevision: number) {
    this.lastRevision = lastRevision;
  }

  /** Adds a record that was just written at the end of `slab`. `revision`: the head including it. */
  extend(slab: Slab, start: number, size: number, revision: number): void {
    const last = this.#extents.at(-1);
    if (last !== undefined && last.slab === slab && last.end === start) last.end += size;
    else this.#extents.push({ slab, start, end: start + size });
    this.bytes += size;
    this.items++;
    this.lastRevision = revision;
  }

  /** The records in order, in as few buffers as possible. Shared and immutable. */
  buffers(): Uint8Array[] {
    return this.#extents.map(({ slab, start, end }) => slab.bytes.subarray(start, end));
  }
}

interface BatchLimits {
  readonly batchBytesMax: number;
  readonly batchItemsMax: number;
}

/** Totals of the durable batches. */
interface BatchTotals {
  readonly batches: number;
  readonly records: number;
  readonly bytes: number;
}

export class Batches {
  readonly #limits: BatchLimits;
  #filling: Batch;
  readonly #inFlight: Batch[] = [];
  #durable: number;
  #totals = { batches: 0, records: 0, bytes: 0 };

  constructor(headRevision: number, limits: BatchLimits) {
    this.#limits = limits;
    this.#durable = headRevision;
    this.#filling = new Batch(headRevision);
  }

  get filling(): Batch {
    return this.#filling;
  }

  get inFlight(): readonly Batch[] {
    return this.#inFlight;
  }

  get totals(): BatchTotals {
    return this.#totals;
  }

  isFull(): boolean {
    const { bytes, items } = this.#filling;
    return bytes >= this.#limits.batchBytesMax || items >= this.#limits.batchItemsMax;
  }

  /** The batch that makes `after` durable; undefined when it is durable already. */
  find(after: After): Batch | undefined {
    const filling = this.#filling;
    const inFlight = this.#inFlight;
    if (after === "all") return filling.items > 0 ? filling : inFlight.at(-1);
    if (after <= this.#durable) return undefined;
    assert(after <= filling.lastRevision, "an answer depends on a revision that is not sequenced");
    return inFlight.find(({ lastRevision }) => after <= lastRevision) ?? filling;
  }

  /** Hands the batch being filled to the engine and starts a new one. */
  begin(): Batch {
    const batch = this.#filling;
    this.#inFlight.push(batch);
    this.#filling = new Batch(batch.lastRevision);
    return batch;
  }

  /** Removes `batch`, which is durable and published. */
  end(batch: Batch): void {
    assert(this.#inFlight[0] === batch, "a batch became durable out of turn");
    assert(batch.lastRevision >= this.#durable, "revisions became durable out of order");
    this.#inFlight.shift();
    this.#durable = batch.lastRevision;
    this.#totals.batches++;
    this.#totals.records += batch.items;
    this.#totals.bytes += batch.bytes;
  }

  /** Submissions that are sequenced but not answered. */
  unanswered(): readonly Submission[] {
    return [...this.#inFlight, this.#filling].flatMap(({ submissions }) => submissions);
  }
}
