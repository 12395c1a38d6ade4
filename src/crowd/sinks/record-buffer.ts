/**
 * Records between the sources and the sink, in order: bounded by bytes, which count until they have landed.
 *
 * Holds  a source that finds it full stops reading; nothing is dropped.
 */
import type { SinkRecord } from "./sink-driver.ts";

export interface BufferLimits {
  /** Maximum bytes in the buffer; a source stops at this size, and continues below half of it. */
  readonly bytesMax: number;
  readonly batchBytesMax: number;
  readonly batchRecordsMax: number;
}

/** Estimated size of a record without its value. */
const recordBytes = 256;

interface Held {
  readonly record: SinkRecord;
  readonly bytes: number;
  readonly atMs: number;
}

export interface Batch {
  readonly records: readonly SinkRecord[];
  readonly bytes: number;
  /** Monotonic time at which the oldest record of the batch entered the buffer. */
  readonly oldestMs: number;
}

export class RecordBuffer {
  readonly #limits: BufferLimits;
  #held: Held[] = [];
  #bytes = 0;
  #arrived = Promise.withResolvers<void>();
  #room = Promise.withResolvers<void>();

  constructor(limits: BufferLimits) {
    this.#limits = limits;
  }

  /** Bytes of the waiting records and of those in flight. */
  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#limits.bytesMax;
  }

  get oldestMs(): number | undefined {
    return this.#held[0]?.atMs;
  }

  put(record: SinkRecord, atMs: number): void {
    const bytes = recordBytes + (record.value?.length ?? 0);
    this.#held.push({ record, bytes, atMs });
    this.#bytes += bytes;
    this.#arrived.resolve();
  }

  /** Resolves once the buffer has a waiting record. */
  arrived(): Promise<void> {
    return this.#held.length > 0 ? Promise.resolve() : this.#arrived.promise;
  }

  /** Resolves once the buffer is less than half full. */
  room(): Promise<void> {
    return this.#bytes < this.#limits.bytesMax / 2 ? Promise.resolve() : this.#room.promise;
  }

  /** Takes the next batch. Undefined: no record waits. */
  take(): Batch | undefined {
    const { batchBytesMax, batchRecordsMax } = this.#limits;
    let bytes = 0;
    let count = 0;
    for (const one of this.#held) {
      if (count > 0 && (count === batchRecordsMax || bytes + one.bytes > batchBytesMax)) break;
      bytes += one.bytes;
      count++;
    }
    const [first] = this.#held;
    if (first === undefined) return undefined;
    const taken = this.#held.slice(0, count);
    this.#held = this.#held.slice(count);
    if (this.#held.length === 0) this.#arrived = Promise.withResolvers();
    return { records: taken.map(({ record }) => record), bytes, oldestMs: first.atMs };
  }

  landed({ bytes }: Batch): void {
    this.#bytes -= bytes;
    if (this.#bytes >= this.#limits.bytesMax / 2) return;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }
}
