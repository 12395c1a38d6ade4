/**
 * Writes protobuf back to front into one scratch buffer, so that a nested message's length is known
 * when its prefix is written: one pass, no sizing, one copy at the end.
 *
 * Holds  no other message is written between `begin` and `finish`: both happen in one synchronous call.
 * Bounds the scratch grows to the largest message; beyond `keepBytesMax` it is not kept.
 */
import { Buffer } from "node:buffer";

const startBytes = 64 * 1024;
/** Up to here a loop is quicker than a call into the runtime. */
const shortChars = 40;
const keepBytesMax = 4 * 2 ** 20;

export class BackWriter {
  #buffer = Buffer.allocUnsafeSlow(startBytes);
  /** First byte written. */
  #at = startBytes;

  begin(): void {
    this.#at = this.#buffer.length;
  }

  /** Bytes written since `begin`. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  /** A copy of what was written, given to the caller, with `headroom` bytes left free before it. */
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

  /** Any 64-bit integer; a negative one takes ten bytes, as protobuf's int64 does. */
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

  /** A string of chars 0..255, a byte each. */
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

  /** False, and nothing written, for a text that is not ASCII. */
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
