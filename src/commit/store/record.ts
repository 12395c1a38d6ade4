/**
 * One record: the unit of the log, of checkpoints and of the slabs in memory. FORMAT.md has the byte table and
 * its reasons; this file is the only code that knows the offsets.
 *
 * A record is 8-byte aligned, little-endian, and carries a checksum of all bytes after
 * the checksum: XXH32, or CRC-32C where format 1 wrote it. The mark shows which of the two.
 */
import { assert } from "#base/assert.ts";
import { crc32cWords } from "#base/crc32c.ts";
import { xxh32Words } from "#base/xxh32.ts";

export const RecordKind = {
  put: 1,
  delete: 2,
  /** A lease is granted; `version` is its time to live in milliseconds. */
  leaseGrant: 3,
  /** A lease ended together with `version` keys, listed in the body, in one revision. */
  leaseEnd: 4,
  /** History up to `createRevision` may be pruned. */
  compact: 5,
  /** A writer took over; later records have its epoch. */
  epoch: 6,
  /** Last record of a checkpoint; `version` counts the records before it. */
  checkpointEnd: 7,
  /** Several puts and deletes of one revision: the body contains their records back to back. */
  group: 8,
} as const;
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind];

export const headerBytes = 56;
export const recordAlign = 8;
/** "PX" in little-endian order; lets a scan after a torn record skip noise cheaply. */
const recordMark = 0x5850;
/** "PH": the mark of format 1. */
const recordMarkCrc = 0x4850;
/** A key's length has 16 bits on disk. */
export const keyBytesLimit = 0xffff;

/** The header of a record, which is the same for all kinds. */
interface RecordHeader {
  readonly kind: RecordKind;
  readonly epoch: number;
  /** Distance from the start of the batch to this record. */
  readonly batchOffset: number;
  readonly revision: number;
  readonly createRevision: number;
  readonly version: number;
  readonly lease: bigint;
  /** Position of a change within its group, from 0; 65,535 stands for that and all higher ones. */
  readonly place?: number;
}

const placeMax = 0xffff;

/** Size of a record with a key and a body of these lengths. */
export function recordSize(keyLength: number, bodyLength: number): number {
  return (headerBytes + keyLength + bodyLength + recordAlign - 1) & ~(recordAlign - 1);
}

/** Three views of the same bytes. */
export interface RecordSpace {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly words: Int32Array;
}

/** `bytes` must begin at a multiple of four in its buffer. */
export function recordSpace(bytes: Uint8Array): RecordSpace {
  const { buffer, byteOffset, length } = bytes;
  const view = new DataView(buffer, byteOffset, length);
  return { bytes, view, words: new Int32Array(buffer, byteOffset, length >> 2) };
}

/** Writes a record at `offset`, a multiple of `recordAlign`, with room for `recordSize`. */
export function writeRecord(
  { bytes, view, words }: RecordSpace,
  offset: number,
  header: RecordHeader,
  key: string,
  body: Uint8Array,
): void {
  const size = recordSize(key.length, body.length);
  const bodyAt = offset + headerBytes + key.length;
  view.setUint32(offset + 4, size, true);
  view.setUint16(offset + 8, recordMark, true);
  view.setUint8(offset + 10, header.kind);
  view.setUint8(offset + 11, offset + size - bodyAt - body.length);
  view.setUint32(offset + 12, header.epoch, true);
  view.setUint32(offset + 16, header.batchOffset, true);
  view.setUint16(offset + 20, key.length, true);
  view.setUint16(offset + 22, Math.min(header.place ?? 0, placeMax), true);
  writeU53(view, offset + 24, header.revision);
  writeU53(view, offset + 32, header.createRevision);
  writeU53(view, offset + 40, header.version);
  // Skipped when 0n: a bigint store costs 20 ns, most keys have no lease, and new slabs are zero.
  if (header.lease !== 0n) view.setBigInt64(offset + 48, header.lease, true);
  writeKey(bytes, offset + headerBytes, key);
  bytes.set(body, bodyAt);
  view.setUint32(offset, xxh32Words(words, (offset >> 2) + 1, (offset + size) >> 2), true);
}

/** Reads records in place, at offsets that are multiples of `recordAlign`. */
export class RecordReader {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  readonly #words: Int32Array;

  constructor(bytes: Uint8Array) {
    const { view, words } = recordSpace(bytes);
    this.bytes = bytes;
    this.#view = view;
    this.#words = words;
  }

  /**
   * Returns the size of the record at `offset` without trusting the bytes: 0 when there is no header with sane
   * lengths. The record may still reach beyond the available bytes, and its checksum is not verified.
   */
  plausibleSize(offset: number): number {
    if (offset + headerBytes > this.bytes.length) return 0;
    const mark = this.#mark(offset);
    if (mark !== recordMark && mark !== recordMarkCrc) return 0;
    const size = this.size(offset);
    const fixed = headerBytes + this.keyLength(offset) + this.#padding(offset);
    const sane = size % recordAlign === 0 && size >= fixed && this.#padding(offset) < recordAlign;
    return sane ? size : 0;
  }

  /** The size of the record at `offset` if it is whole and has the right checksum, else 0. */
  validSize(offset: number): number {
    const size = this.plausibleSize(offset);
    if (size === 0 || offset + size > this.bytes.length) return 0;
    const sumOf = this.#mark(offset) === recordMark ? xxh32Words : crc32cWords;
    const sum = sumOf(this.#words, (offset >> 2) + 1, (offset + size) >> 2);
    return sum === this.#view.getUint32(offset, true) ? size : 0;
  }

  size(offset: number): number {
    return this.#view.getUint32(offset + 4, true);
  }

  kind(offset: number): number {
    return this.#view.getUint8(offset + 10);
  }

  epoch(offset: number): number {
    return this.#view.getUint32(offset + 12, true);
  }

  batchOffset(offset: number): number {
    return this.#view.getUint32(offset + 16, true);
  }

  place(offset: number): number {
    return this.#view.getUint16(offset + 22, true);
  }

  keyLength(offset: number): number {
    return this.#view.getUint16(offset + 20, true);
  }

  revision(offset: number): number {
    return readU53(this.#view, offset + 24);
  }

  createRevision(offset: number): number {
    return readU53(this.#view, offset + 32);
  }

  version(offset: number): number {
    return readU53(this.#view, offset + 40);
  }

  lease(offset: number): bigint {
    const low = this.#view.getInt32(offset + 48, true);
    const high = this.#view.getInt32(offset + 52, true);
    return (low | high) === 0 ? 0n : this.#view.getBigInt64(offset + 48, true);
  }

  key(offset: number): string {
    return readKey(this.bytes, offset + headerBytes, this.keyLength(offset));
  }

  bodyLength(offset: number): number {
    return this.size(offset) - headerBytes - this.keyLength(offset) - this.#padding(offset);
  }

  body(offset: number): Uint8Array {
    const at = offset + headerBytes + this.keyLength(offset);
    return this.bytes.subarray(at, at + this.bodyLength(offset));
  }

  #mark(offset: number): number {
    return this.#view.getUint16(offset + 8, true);
  }

  #padding(offset: number): number {
    return this.#view.getUint8(offset + 11);
  }
}

/** The body of a leaseEnd record: for each key a 16-bit length and the bytes. */
export function encodeKeys(keys: readonly string[]): Uint8Array {
  const bytes = new Uint8Array(keys.reduce((sum, key) => sum + 2 + key.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const key of keys) {
    view.setUint16(at, key.length, true);
    writeKey(bytes, at + 2, key);
    at += 2 + key.length;
  }
  return bytes;
}

export function decodeKeys(body: Uint8Array, count: number): string[] {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const keys: string[] = [];
  let at = 0;
  while (at < body.length) {
    const length = view.getUint16(at, true);
    keys.push(readKey(body, at + 2, length));
    at += 2 + length;
  }
  assert(at === body.length && keys.length === count, "key list is malformed", { count, at });
  return keys;
}

function writeKey(bytes: Uint8Array, at: number, key: string): void {
  for (let i = 0; i < key.length; i++) bytes[at + i] = key.charCodeAt(i);
}

/** TextDecoder's "latin1" is windows-1252, which does not map bytes to chars one to one. */
function readKey(bytes: Uint8Array, at: number, length: number): string {
  // Engines may overflow the stack with more than some ten thousand arguments.
  const step = 4096;
  if (length <= step) return keyPart(bytes, at, at + length);
  let key = "";
  for (let i = 0; i < length; i += step) {
    key += keyPart(bytes, at + i, at + Math.min(length, i + step));
  }
  return key;
}

/** One reused array per key length, because a new array per key costs more than the key. */
const codesByLength = Array.from({ length: 129 }, (_, length) => Array.from({ length }, () => 0));

function keyPart(bytes: Uint8Array, start: number, end: number): string {
  const codes = codesByLength[end - start];
  if (codes === undefined) {
    return String.fromCharCode.apply(null, bytes.subarray(start, end) as unknown as number[]);
  }
  for (let i = start; i < end; i++) codes[i - start] = bytes[i] as number;
  return String.fromCharCode.apply(null, codes);
}

function writeU53(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, (value / 2 ** 32) >>> 0, true);
}

function readU53(view: DataView, at: number): number {
  const value = view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  assert(value <= Number.MAX_SAFE_INTEGER, "number on disk is beyond 2^53-1", { at });
  return value;
}
