/**
 * Encodes a batch as the values of one or more keys. A batch larger than one request of the cluster is
 * cut into parts, anywhere, in consecutive slots. It counts once its last part is there.
 *
 *   offset  size  field
 *   0       1     version, 1
 *   1       1     1 in the last part of a batch, else 0
 *   2       2     zero
 *   4       4     epoch of the writer
 *   8       4     index of the part in its batch, from 0
 *   12      4     zero
 *   16      8     head revision once the batch counts
 *   24            bytes of the batch: whole records once the parts are joined
 *
 * All numbers little-endian. Records carry checksums, so parts have none.
 */
import { concatBytes } from "#base/bytes.ts";
import { RecordReader } from "../../record.ts";
import { CorruptionError } from "../engine.ts";

const version = 1;
/** A multiple of the alignment of records. */
export const partHeaderBytes = 24;

interface PartHeader {
  readonly epoch: number;
  readonly index: number;
  readonly isLast: boolean;
  readonly lastRevision: number;
}

/** Encodes the bytes `from` to `until` of `buffers`, which are whole records back to back, as one part. */
export function encodePart(
  header: PartHeader,
  buffers: readonly Uint8Array[],
  from: number,
  until: number,
): Uint8Array {
  const value = new Uint8Array(partHeaderBytes + until - from);
  const view = new DataView(value.buffer);
  view.setUint8(0, version);
  view.setUint8(1, header.isLast ? 1 : 0);
  view.setUint32(4, header.epoch, true);
  view.setUint32(8, header.index, true);
  view.setUint32(16, header.lastRevision >>> 0, true);
  view.setUint32(20, Math.floor(header.lastRevision / 2 ** 32), true);
  let start = 0;
  for (const buffer of buffers) {
    const first = Math.max(from - start, 0);
    const end = Math.min(until - start, buffer.length);
    if (first < end) {
      value.set(buffer.subarray(first, end), partHeaderBytes + start + first - from);
    }
    start += buffer.length;
  }
  return value;
}

/** Throws CorruptionError. */
function decodePart(value: Uint8Array, key: string): PartHeader {
  if (value.length <= partHeaderBytes || value[0] !== version || (value[1] as number) > 1) {
    throw new CorruptionError(`${key} is no part of a log that this version can read`);
  }
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return {
    epoch: view.getUint32(4, true),
    index: view.getUint32(8, true),
    isLast: value[1] === 1,
    lastRevision: view.getUint32(20, true) * 2 ** 32 + view.getUint32(16, true),
  };
}

/** The epoch of a part's writer; 0: the value is not a part. */
export function partEpoch(value: Uint8Array): number {
  if (value.length < partHeaderBytes) return 0;
  return new DataView(value.buffer, value.byteOffset, value.byteLength).getUint32(4, true);
}

/** A complete batch. */
export interface JoinedBatch {
  readonly firstKey: string;
  readonly epoch: number;
  readonly lastRevision: number;
  /** Whole records with right checksums. The caller owns the bytes. */
  readonly bytes: Uint8Array;
}

/**
 * Joins parts, in order. A batch without its last part is skipped: its writer was deposed
 * and never acknowledged it.
 */
export class Joiner {
  #firstKey = "";
  #header: PartHeader | undefined;
  #parts: Uint8Array[] = [];

  /** Whether parts of an incomplete batch are held. */
  get hasPart(): boolean {
    return this.#parts.length > 0;
  }

  /** Adds the next part, borrowed until its batch is returned. @returns the batch that it completes. */
  take(key: string, value: Uint8Array): JoinedBatch | undefined {
    const header = decodePart(value, key);
    if (header.index === 0) this.#begin(key, header);
    else this.#checkFollows(key, header);
    this.#parts.push(value.subarray(partHeaderBytes));
    this.#header = header;
    if (!header.isLast) return undefined;
    const { epoch, lastRevision } = header;
    const bytes = concatBytes(this.#parts);
    this.#parts = [];
    checkRecords(bytes, this.#firstKey);
    return { firstKey: this.#firstKey, epoch, lastRevision, bytes };
  }

  #begin(key: string, { epoch }: PartHeader): void {
    if (this.hasPart && epoch <= (this.#header?.epoch ?? 0)) {
      throw new CorruptionError(`${key} begins a batch before its writer ended the last one`);
    }
    this.#firstKey = key;
    this.#parts = [];
  }

  #checkFollows(key: string, { index, epoch, lastRevision }: PartHeader): void {
    const before = this.#header;
    const isNext =
      this.hasPart &&
      before?.index === index - 1 &&
      before.epoch === epoch &&
      before.lastRevision === lastRevision;
    if (!isNext) throw new CorruptionError(`${key} goes on with a batch that was not begun`);
  }
}

function checkRecords(bytes: Uint8Array, key: string): void {
  const reader = new RecordReader(bytes);
  for (let at = 0; at < bytes.length;) {
    const size = reader.validSize(at);
    if (size === 0) {
      throw new CorruptionError(`the batch at ${key} is damaged: no whole record at offset ${at}`);
    }
    at += size;
  }
}
