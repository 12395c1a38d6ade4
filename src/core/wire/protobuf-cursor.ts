/**
 * Reading protobuf without an object per field: a cursor stands on one field of a message at a time.
 *
 * Holds  as `protobuf.ts`: no length is believed before it is compared with what is left; groups and varints of
 *        more than ten bytes are errors. A field of another wire type than its reader expects reads as zero or empty.
 * Nested messages are read by the same cursor: read `start` and `end` of the field, set `at = start`, read fields up
 *        to `end`; after that `at` is where the outer message goes on.
 * Bytes  borrowed until `close` or the next `open`. Texts of up to `sharedBytesMax` are looked up in a table of earlier ones:
 *        most are names of fields, images and phases that repeat in every object.
 */
import { Buffer } from "node:buffer";
import { ProtobufError } from "./protobuf.ts";

/** Longer texts are not shared, because they rarely repeat. */
const sharedBytesMax = 40;
/** A power of two; a new text replaces the one in its place. */
const sharedTexts = 4096;
/** Up to this length a loop recognises ASCII faster than a call into the runtime. */
const loopBytesMax = 256;
const twoTo32 = 0x1_0000_0000;
/** A byte order mark is kept, because it is part of a name. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const none = Buffer.alloc(0);

/** The function that `toString("latin1", ...)` calls, without its checks: half the time for a short text. */
type Sliced = Buffer & { latin1Slice(start: number, end: number): string };

/** Converts bytes to a string of chars 0..255. */
export function latin1(bytes: Buffer, start: number, end: number): string {
  return (bytes as Sliced).latin1Slice(start, end);
}

export class ProtobufCursor {
  bytes: Buffer = none;
  /** Offset of the next field. */
  at = 0;
  /** Number of the current field. */
  number = 0;
  wireType = 0;
  /** Start of a length-delimited value; `start === end` for other types. */
  start = 0;
  end = 0;
  /** Low and high 32 bits of varint and fixed values. */
  #low = 0;
  #high = 0;
  readonly #texts: (string | undefined)[] = Array.from({ length: sharedTexts }, () => undefined);

  open(bytes: Uint8Array): void {
    this.bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /** Releases the bytes, because a cursor is reused for large and small messages. */
  close(): void {
    this.bytes = none;
    this.at = 0;
  }

  /** Moves to the next field of a message that ends at `limit`. @returns false at its end. */
  next(limit: number): boolean {
    if (this.at >= limit) return false;
    // Field numbers below 16, which are the most frequent, take one byte with their type.
    let tag = this.bytes[this.at] ?? 0;
    if (tag < 0x80) this.at++;
    else {
      this.#varint(limit);
      tag = this.#high * twoTo32 + this.#low;
    }
    this.wireType = tag & 7;
    this.number = tag < 0x80 ? tag >> 3 : Math.floor(tag / 8);
    if (this.number === 0) throw new ProtobufError("proto: illegal tag 0");
    if (this.wireType === 2) this.#delimited(limit);
    else this.#scalar(this.wireType, limit);
    return true;
  }

  /** A varint or fixed value as a signed 64-bit integer. */
  integer(): number | bigint {
    const high = this.#high;
    if (high < 0x20_0000) return high * twoTo32 + this.#low;
    return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(this.#low));
  }

  double(): number {
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, this.#high);
    view.setUint32(4, this.#low);
    return view.getFloat64(0);
  }

  get isZero(): boolean {
    return this.#low === 0 && this.#high === 0;
  }

  /** A length-delimited value as text, which is expected to equal `likely`. Throws ProtobufError for invalid UTF-8. */
  text(likely = ""): string {
    const { start, end } = this;
    if (start === end) return "";
    if (likely !== "" && this.#isText(likely, start, end)) return likely;
    const size = end - start;
    if (size > loopBytesMax) return this.#longText(start, end);
    const { bytes } = this;
    let hash = size;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number; // the cursor keeps within the bytes
      if (byte > 0x7f) return this.#longText(start, end);
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    if (size > sharedBytesMax) return latin1(this.bytes, start, end);
    return this.#sharedText(start, end, (hash ^ (hash >>> 12)) & (sharedTexts - 1));
  }

  /** Like `text`, for values that rarely repeat. */
  ownText(): string {
    const { start, end } = this;
    for (let at = start; at < end; at++) {
      if ((this.bytes[at] ?? 0) > 0x7f) return this.#longText(start, end);
    }
    return latin1(this.bytes, start, end);
  }

  #sharedText(start: number, end: number, place: number): string {
    const known = this.#texts[place];
    if (known !== undefined && this.#isText(known, start, end)) return known;
    const text = latin1(this.bytes, start, end);
    this.#texts[place] = text;
    return text;
  }

  #isText(text: string, start: number, end: number): boolean {
    const { bytes } = this;
    const size = end - start;
    if (text.length !== size) return false;
    // Compares from the end, where different names and times usually differ.
    for (let at = size - 1; at >= 0; at--) {
      if (text.charCodeAt(at) !== bytes[start + at]) return false;
    }
    return true;
  }

  #longText(start: number, end: number): string {
    try {
      return decoder.decode(this.bytes.subarray(start, end));
    } catch {
      throw new ProtobufError("proto: invalid UTF-8 in a string field");
    }
  }

  #delimited(limit: number): void {
    let size = this.at < limit ? (this.bytes[this.at] ?? 0) : 0x80;
    if (size < 0x80) this.at++;
    else {
      this.#varint(limit);
      size = this.#high * twoTo32 + this.#low;
    }
    if (size > limit - this.at) throw new ProtobufError("unexpected EOF");
    this.start = this.at;
    this.end = this.at + size;
    this.at = this.end;
    this.#low = 0;
    this.#high = 0;
  }

  #scalar(wireType: number, limit: number): void {
    if (wireType === 0) this.#varint(limit);
    else if (wireType === 1) this.#fixed(8, limit);
    else if (wireType === 5) this.#fixed(4, limit);
    else throw new ProtobufError(`proto: illegal wireType ${wireType}`);
    this.start = this.at;
    this.end = this.at;
  }

  #fixed(size: 4 | 8, limit: number): void {
    if (this.at + size > limit) throw new ProtobufError("unexpected EOF");
    this.#low = this.bytes.readUInt32LE(this.at);
    this.#high = size === 8 ? this.bytes.readUInt32LE(this.at + 4) : 0;
    this.at += size;
  }

  /** Reads 7 bits per byte, lowest first, at most ten bytes; bits beyond 64 are dropped. */
  #varint(limit: number): void {
    const { bytes } = this;
    let at = this.at;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= limit) throw new ProtobufError("unexpected EOF");
      const byte = bytes[at++] ?? 0;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) {
        this.at = at;
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        return;
      }
    }
    throw new ProtobufError("proto: integer overflow");
  }
}
