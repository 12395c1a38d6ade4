/**
 * Writes protobuf back to front into one scratch buffer, so that a nested message's length is known
 * when its prefix is written: one pass, no sizing, one copy at the end.
 *
 * Holds  no other message is written between `begin` and `finish`: both happen in one synchronous call.
 * Bounds the scratch grows to the largest message; beyond `keepBytesMax` it is not kept.
 */
import { Buffer } from "node:buffer";

const startBytes = 64 * 1024;
/** Up to this length a loop is faster than a call into the runtime. */
const shortChars = 40;
const keepBytesMax = 4 * 2 ** 20;

export class BackWriter {
  #buffer = Buffer.allocUnsafeSlow(startBytes);
  /** Index of the first byte written. */
  #at = startBytes;

  begin(): void {
    this.#at = this.#buffer.length;
  }

  /** Number of bytes written since `begin`. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  /** A copy of the output, with `headroom` bytes of free space before it; the caller owns it. */
  finish(headroom: number): Buffer {
    const size = this.length;
    const out = Buffer.allocUnsafe(headroom + size);
    this.#buffer.copy(out, headroom, this.#at);
    if (this.#buffer.length > keepBytesMax) this.#buffer = Buffer.allocUnsafeSlow(startBytes);
    return out;
  }

  varint(value: number): void {
    if (value < 0 || value > 0xffff_ffff) {
      this.#wideVarint(BigInt(value));
      return;
    }
    this.#room(5);
    const size =
      value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
    this.#at -= size;
    let at = this.#at;
    let left = value;
    for (let i = 1; i < size; i++) {
      this.#buffer[at++] = (left & 0x7f) | 0x80;
      left >>>= 7;
    }
    this.#buffer[at] = left;
  }

  /** Any 64-bit integer; as protobuf's int64, a negative one takes ten bytes. */
  bigVarint(value: bigint): void {
    if (value >= 0n && value <= 0xffff_ffffn) this.varint(Number(value));
    else this.#wideVarint(value);
  }

  double(value: number): void {
    this.#room(8);
    this.#at -= 8;
    this.#buffer.writeDoubleLE(value, this.#at);
  }

  bytes(value: Uint8Array): void {
    this.#room(value.length);
    this.#at -= value.length;
    this.#buffer.set(value, this.#at);
  }

  /** Writes a string of chars 0..255 as one byte each. */
  latin1(value: string): void {
    this.#room(value.length);
    this.#at -= value.length;
    this.#buffer.write(value, this.#at, "latin1");
  }

  utf8(value: string): void {
    if (value.length <= shortChars && this.#shortAscii(value)) return;
    const size = Buffer.byteLength(value);
    this.#room(size);
    this.#at -= size;
    this.#buffer.write(value, this.#at, "utf8");
  }

  /** @returns false, having written nothing, if the text is not ASCII. */
  #shortAscii(value: string): boolean {
    this.#room(value.length);
    let at = this.#at;
    for (let i = value.length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      this.#buffer[--at] = code;
    }
    this.#at = at;
    return true;
  }

  #wideVarint(value: bigint): void {
    let left = BigInt.asUintN(64, value);
    const groups: number[] = [];
    do {
      groups.push(Number(left & 0x7fn));
      left >>= 7n;
    } while (left !== 0n);
    this.#room(groups.length);
    this.#at -= groups.length;
    groups.forEach((group, i) => {
      this.#buffer[this.#at + i] = i < groups.length - 1 ? group | 0x80 : group;
    });
  }

  #room(bytes: number): void {
    if (this.#at >= bytes) return;
    const used = this.length;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, used + bytes * 2));
    this.#buffer.copy(grown, grown.length - used, this.#at);
    this.#buffer = grown;
    this.#at = grown.length - used;
  }
}
