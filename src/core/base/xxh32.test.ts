/** XXH32 against published values, by way of a slow reading of its specification over bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { xxh32Words } from "./xxh32.ts";

const mask = 0xffffffffn;
const [p1, p2, p3, p4, p5] = [
  2654435761n,
  2246822519n,
  3266489917n,
  668265263n,
  374761393n,
] as const;

function rotate(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (32n - bits))) & mask;
}

/** The specification, in bigints. */
function slow(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const word = (at: number): bigint => BigInt(view.getUint32(at, true));
  let at = 0;
  let h: bigint = p5;
  if (bytes.length >= 16) {
    const lanes = [(p1 + p2) & mask, p2, 0n, -p1 & mask];
    for (; at + 16 <= bytes.length; at += 16) {
      lanes.forEach((lane, i) => {
        lanes[i] = (rotate((lane + word(at + i * 4) * p2) & mask, 13n) * p1) & mask;
      });
    }
    h = lanes.reduce((sum, lane, i) => sum + rotate(lane, [1n, 7n, 12n, 18n][i] as bigint), 0n);
  }
  h = (h + BigInt(bytes.length)) & mask;
  for (; at + 4 <= bytes.length; at += 4) {
    h = (rotate((h + word(at) * p3) & mask, 17n) * p4) & mask;
  }
  for (; at < bytes.length; at++) {
    h = (rotate((h + BigInt(bytes[at] as number) * p5) & mask, 11n) * p1) & mask;
  }
  h = ((h ^ (h >> 15n)) * p2) & mask;
  h = ((h ^ (h >> 13n)) * p3) & mask;
  return Number(h ^ (h >> 16n));
}

void test("the slow reading gives the published values", () => {
  const of = (text: string): number => slow(new TextEncoder().encode(text));
  assert.equal(of(""), 0x02cc5d05);
  assert.equal(of("a"), 0x550d7456);
  assert.equal(of("abc"), 0x32d153ff);
  assert.equal(of("Nobody inspects the spammish repetition"), 0xe2293b2f);
});

void test("words give the sum of their bytes, at any length and offset", () => {
  const random = new FakeRandom(1);
  const bytes = random.bytes(800);
  const words = new Int32Array(bytes.slice().buffer);
  for (let start = 0; start < 6; start++) {
    for (let end = start; end < 120; end++) {
      assert.equal(xxh32Words(words, start, end), slow(bytes.subarray(start * 4, end * 4)));
    }
  }
  assert.equal(xxh32Words(words, 0, words.length), slow(bytes));
});

void test("any change of one word changes the sum", () => {
  const random = new FakeRandom(2);
  const words = new Int32Array(random.bytes(1024).slice().buffer);
  const sum = xxh32Words(words, 0, words.length);
  for (let i = 0; i < 5000; i++) {
    const at = random.below(words.length);
    const before = words[at] as number;
    words[at] = before ^ (1 + random.below(2 ** 32 - 1));
    assert.notEqual(xxh32Words(words, 0, words.length), sum, `word ${at}, change ${i}`);
    words[at] = before;
  }
});
