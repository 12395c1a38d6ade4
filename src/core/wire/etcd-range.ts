/**
 * A RangeResponse written while the keys are read: each value is copied once, from the store to the send
 * buffer, with no object in between.
 *
 * Holds  the output equals gRPC's prefix and `rangeResponse.encode` of the same values. One answer is
 *        written at a time, between `begin` and `end`, synchronously.
 * Bounds a small answer is one exact buffer; a large one is pieces of the pool's size, or one of a
 *        key's own.
 */
import { Buffer } from "node:buffer";
import { header as headerMessage, type Header } from "./etcd-messages.ts";
import { pieces } from "./buffer-pool.ts";
import { prefixBytes } from "./grpc.ts";

/** A version of a key in the store; its value is a part of `bytes`. */
export interface StoredKeyValue {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly valueStart: number;
  readonly valueLength: number;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
  readonly lease: bigint;
}

/** Answers up to this size are copied out of the scratch buffer. */
const scratchBytes = 16 * 1024;
/** Before the message: gRPC's prefix, and the header of the RangeStreamResponse field that contains it. */
const headBytes = prefixBytes + 6;
/** Maximum size of an entry without key and value: seven tags and six numbers of up to ten bytes. */
const entryBytesMax = 80;

const Tag = { header: 0x0a, kvs: 0x12, more: 0x18, count: 0x20, within: 0x0a } as const;
const KvTag = { key: 0x0a, create: 0x10, mod: 0x18, version: 0x20, value: 0x2a, lease: 0x30 };

/** Up to this length a loop is faster than a call into the runtime. */
const shortKey = 64;
const { copy } = Buffer.prototype;

export class RangeWriter {
  readonly #scratch = Buffer.allocUnsafeSlow(scratchBytes);
  #piece: Buffer = this.#scratch;
  #at = 0;
  /** Pieces that are full. */
  #full: Buffer[] = [];
  #fullBytes = 0;

  begin(): void {
    this.#piece = this.#scratch;
    this.#at = headBytes;
    this.#full = [];
    this.#fullBytes = 0;
  }

  /** Size of the message so far. */
  get bytes(): number {
    return this.#fullBytes + this.#at - headBytes;
  }

  header(header: Header): void {
    const bytes = headerMessage.encode(header);
    this.#room(bytes.length + entryBytesMax);
    this.#field(Tag.header, bytes.length);
    this.#piece.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  keyValue(kv: StoredKeyValue, withValue: boolean): void {
    const { key, createRevision, modRevision, version, lease } = kv;
    const valueLength = withValue ? kv.valueLength : 0;
    this.#room(key.length + valueLength + entryBytesMax);
    const leaseBytes = lease === 0n ? 0 : 1 + bigSize(lease);
    const size =
      1 +
      varintSize(key.length) +
      key.length +
      fieldSize(createRevision) +
      fieldSize(modRevision) +
      fieldSize(version) +
      (valueLength === 0 ? 0 : 1 + varintSize(valueLength) + valueLength) +
      leaseBytes;
    this.#field(Tag.kvs, size);
    this.#field(KvTag.key, key.length);
    this.#key(key);
    if (createRevision !== 0) this.#field(KvTag.create, createRevision);
    if (modRevision !== 0) this.#field(KvTag.mod, modRevision);
    if (version !== 0) this.#field(KvTag.version, version);
    if (valueLength > 0) this.#value(kv.bytes, kv.valueStart, valueLength);
    if (lease !== 0n) this.#lease(lease);
  }

  rest(more: boolean, count: number): void {
    this.#room(entryBytesMax);
    if (more) this.#field(Tag.more, 1);
    if (count !== 0) this.#field(Tag.count, count);
  }

  /** The frame of a RangeResponse, in pieces; the caller owns them. */
  end(): Buffer[] {
    return this.#framed(prefixBytes, this.bytes);
  }

  /** The frame of a RangeStreamResponse that contains it. */
  endStreamed(): Buffer[] {
    const { bytes } = this;
    const within = 1 + varintSize(bytes);
    return this.#framed(prefixBytes + within, bytes + within);
  }

  #framed(head: number, length: number): Buffer[] {
    const last = this.#piece.subarray(0, this.#at);
    const all = [...this.#full, this.#piece === this.#scratch ? Buffer.from(last) : last];
    const first = (all[0] as Buffer).subarray(headBytes - head);
    first[0] = 0;
    first.writeUInt32BE(length, 1);
    if (head > prefixBytes) {
      first[prefixBytes] = Tag.within;
      writeVarint(first, prefixBytes + 1, length - (head - prefixBytes));
    }
    all[0] = first;
    for (const piece of all) pieces.given(piece, piece.length);
    this.begin();
    return all;
  }

  #key(key: string): void {
    const { length } = key;
    if (length > shortKey) this.#piece.write(key, this.#at, "latin1");
    else for (let i = 0; i < length; i++) this.#piece[this.#at + i] = key.charCodeAt(i);
    this.#at += length;
  }

  #value(bytes: Uint8Array, start: number, length: number): void {
    this.#field(KvTag.value, length);
    // Not `set`, because creating a view for each value costs more than copying it.
    copy.call(bytes as Buffer, this.#piece, this.#at, start, start + length);
    this.#at += length;
  }

  #lease(lease: bigint): void {
    this.#piece[this.#at++] = KvTag.lease;
    let left = BigInt.asUintN(64, lease);
    for (; left >= 0x80n; left >>= 7n) this.#piece[this.#at++] = Number(left & 0x7fn) | 0x80;
    this.#piece[this.#at++] = Number(left);
  }

  /** Writes a tag of one byte, and a number or a length. */
  #field(tag: number, value: number): void {
    this.#piece[this.#at] = tag;
    this.#at = writeVarint(this.#piece, this.#at + 1, value);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#piece.length) return;
    const full = this.#piece.subarray(0, this.#at);
    if (this.#piece === this.#scratch) {
      this.#piece = pieces.take(this.#at + bytes);
      this.#piece.set(full, 0);
      return;
    }
    this.#full.push(full);
    this.#fullBytes += full.length;
    this.#piece = pieces.take(bytes);
    this.#at = 0;
  }
}

function fieldSize(value: number): number {
  return value === 0 ? 0 : 1 + varintSize(value);
}

/** Size of a number from 0 to 2^53. */
function varintSize(value: number): number {
  let size = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 128)) size++;
  return size;
}

function bigSize(value: bigint): number {
  let size = 1;
  for (let left = BigInt.asUintN(64, value); left >= 0x80n; left >>= 7n) size++;
  return size;
}

function writeVarint(bytes: Buffer, from: number, value: number): number {
  let at = from;
  let left = value;
  for (; left > 0x7fff_ffff; left = Math.floor(left / 128)) bytes[at++] = (left % 128) | 0x80;
  for (; left >= 0x80; left >>>= 7) bytes[at++] = (left & 0x7f) | 0x80;
  bytes[at++] = left;
  return at;
}
