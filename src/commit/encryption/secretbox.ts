/**
 * NaCl's secretbox, XSalsa20 and Poly1305, which the host's crypto does not have (ADR 0045).
 *
 *   box = 16 bytes of Poly1305 over the rest ++ message XOR stream after its first 32 bytes, which are Poly1305's key
 *
 * After  https://nacl.cr.yp.to/secretbox.html, https://cr.yp.to/snuffle/xsalsa-20110204.pdf,
 *        https://cr.yp.to/mac/poly1305-20050329.pdf. Checked against NaCl's own vector and a stock API server.
 * Cost   some 150 us per KB.
 */
import { timingSafeEqual } from "node:crypto";

export const nonceBytes = 24;
export const tagBytes = 16;
const macKeyBytes = 32;
const blockBytes = 64;

export function sealBox(key: Uint8Array, nonce: Uint8Array, message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(macKeyBytes + message.length);
  padded.set(message, macKeyBytes);
  xorStream(key, nonce, padded);
  const sealed = padded.subarray(macKeyBytes);
  const box = new Uint8Array(tagBytes + message.length);
  box.set(poly1305(padded.subarray(0, macKeyBytes), sealed));
  box.set(sealed, tagBytes);
  return box;
}

/** Opens a box. Undefined: it was not sealed with this key and nonce. */
export function openBox(
  key: Uint8Array,
  nonce: Uint8Array,
  box: Uint8Array,
): Uint8Array | undefined {
  if (box.length < tagBytes) return undefined;
  const sealed = box.subarray(tagBytes);
  const padded = new Uint8Array(macKeyBytes + sealed.length);
  padded.set(sealed, macKeyBytes);
  xorStream(key, nonce, padded);
  const tag = poly1305(padded.subarray(0, macKeyBytes), sealed);
  return timingSafeEqual(tag, box.subarray(0, tagBytes)) ? padded.subarray(macKeyBytes) : undefined;
}

/** The text "expand 32-byte k" as words. */
const sigma = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;

function wordsOf(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}

/** Returns Salsa20's matrix: constants on the diagonal, the key in two halves, the nonce and counter between. */
function matrixOf(key: Uint32Array, middle: Uint32Array): Uint32Array {
  const [c0, c1, c2, c3] = sigma;
  const half = (from: number): number[] => [...key.subarray(from, from + 4)];
  return Uint32Array.from([c0, ...half(0), c1, ...middle, c2, ...half(4), c3]);
}

function xorStream(key: Uint8Array, nonce: Uint8Array, bytes: Uint8Array): void {
  const subkey = hsalsa20(wordsOf(key), wordsOf(nonce.subarray(0, 16)));
  const middle = new Uint32Array(4);
  middle.set(wordsOf(nonce.subarray(16)));
  const state = matrixOf(subkey, middle);
  const block = new Uint32Array(16);
  const stream = new Uint8Array(blockBytes);
  const out = new DataView(stream.buffer);
  for (let start = 0, counter = 0; start < bytes.length; start += blockBytes, counter++) {
    // The upper word of the counter stays 0: a message of 2^32 blocks is longer than any value.
    state[8] = counter;
    block.set(state);
    rounds(block);
    for (let at = 0; at < 16; at++)
      out.setUint32(4 * at, ((block[at] ?? 0) + (state[at] ?? 0)) >>> 0, true);
    const end = Math.min(blockBytes, bytes.length - start);
    for (let at = 0; at < end; at++)
      bytes[start + at] = (bytes[start + at] ?? 0) ^ (stream[at] ?? 0);
  }
}

/** Returns the diagonal and the middle of the matrix after the rounds, without the addition. */
function hsalsa20(key: Uint32Array, input: Uint32Array): Uint32Array {
  const block = matrixOf(key, input);
  rounds(block);
  return Uint32Array.from([0, 5, 10, 15, 6, 7, 8, 9], (at) => block[at] ?? 0);
}

/** Matrix places of the quarter rounds of a double round: four columns, then four rows. */
const quarters = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const;

function rounds(x: Uint32Array): void {
  for (let double = 0; double < 10; double++) {
    for (const [a, b, c, d] of quarters) {
      x[b] = (x[b] ?? 0) ^ rotated((x[a] ?? 0) + (x[d] ?? 0), 7);
      x[c] = (x[c] ?? 0) ^ rotated((x[b] ?? 0) + (x[a] ?? 0), 9);
      x[d] = (x[d] ?? 0) ^ rotated((x[c] ?? 0) + (x[b] ?? 0), 13);
      x[a] = (x[a] ?? 0) ^ rotated((x[d] ?? 0) + (x[c] ?? 0), 18);
    }
  }
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** Numbers modulo 2^130 - 5 as ten limbs of 13 bits: sums of products stay below 2^53. */
const limbs = 10;
const limbBits = 13;
const limbBase = 2 ** limbBits;

function poly1305(key: Uint8Array, message: Uint8Array): Uint8Array {
  const clamped = Uint8Array.from(key.subarray(0, 16));
  for (const at of [3, 7, 11, 15]) clamped[at] = (clamped[at] ?? 0) & 15;
  for (const at of [4, 8, 12]) clamped[at] = (clamped[at] ?? 0) & 252;
  const r = limbsOf(clamped, 16, 0);
  let sum: number[] = Array.from({ length: limbs }, () => 0);
  for (let start = 0; start < message.length; start += 16) {
    const part = message.subarray(start, start + 16);
    const block = limbsOf(part, part.length, 1);
    sum = product(
      sum.map((limb, at) => limb + (block[at] ?? 0)),
      r,
    );
  }
  return tagOf(sum, key.subarray(16, 32));
}

/** Splits little-endian bytes into limbs, with `top` as the byte behind the last. */
function limbsOf(bytes: Uint8Array, length: number, top: number): number[] {
  const whole = (at: number): number => (at < length ? (bytes[at] ?? 0) : at === length ? top : 0);
  return Array.from({ length: limbs }, (_, limb) => {
    const bit = limb * limbBits;
    const at = bit >> 3;
    const three = whole(at) | (whole(at + 1) << 8) | (whole(at + 2) << 16);
    return (three >> (bit & 7)) & (limbBase - 1);
  });
}

function product(a: readonly number[], b: readonly number[]): number[] {
  const out: number[] = [];
  let carry = 0;
  for (let at = 0; at < limbs; at++) {
    let sum = carry;
    for (let left = 0; left < limbs; left++) {
      const right = at - left;
      // Modulo 2^130 - 5, 2^130 equals 5.
      const other = right >= 0 ? (b[right] ?? 0) : 5 * (b[right + limbs] ?? 0);
      sum += (a[left] ?? 0) * other;
    }
    carry = Math.floor(sum / limbBase);
    out.push(sum % limbBase);
  }
  return carried(out, 5 * carry);
}

function carried(number: number[], add: number): number[] {
  let carry = add;
  for (let at = 0; at < limbs && carry > 0; at++) {
    const sum = (number[at] ?? 0) + carry;
    number[at] = sum % limbBase;
    carry = Math.floor(sum / limbBase);
  }
  return carry > 0 ? carried(number, 5 * carry) : number;
}

/** Reduces the sum modulo 2^130 - 5, then adds the pad modulo 2^128: once per message. */
function tagOf(sum: readonly number[], pad: Uint8Array): Uint8Array {
  let value = 0n;
  for (const limb of sum.toReversed()) value = (value << BigInt(limbBits)) + BigInt(limb);
  value %= (1n << 130n) - 5n;
  for (const [at, byte] of pad.entries()) value += BigInt(byte) << BigInt(8 * at);
  return Uint8Array.from({ length: 16 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));
}
