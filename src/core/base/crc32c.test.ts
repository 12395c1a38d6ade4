/** CRC-32C against published vectors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32c, crc32cWords } from "./crc32c.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

void test("the check value of the CRC catalogue and RFC 3720's vectors hold", () => {
  assert.equal(crc32c(bytes("123456789")), 0xe3069283);
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e);
});

void test("a seed chains parts, and start and end bound the bytes", () => {
  const all = bytes("the quick brown fox jumps over the lazy dog");
  for (const cut of [0, 1, 7, 8, 9, all.length]) {
    assert.equal(crc32c(all, cut, all.length, crc32c(all, 0, cut)), crc32c(all));
  }
  assert.equal(crc32c(all, 4, 9), crc32c(bytes("quick")));
});

void test("a flipped bit always changes the sum", () => {
  const all = bytes("some record");
  const sum = crc32c(all);
  for (let bit = 0; bit < all.length * 8; bit++) {
    all[bit >> 3] = (all[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.notEqual(crc32c(all), sum);
    all[bit >> 3] = (all[bit >> 3] as number) ^ (1 << (bit & 7));
  }
});

void test("words give the same sum as their bytes, at any length and offset", () => {
  const all = Uint8Array.from({ length: 400 }, (_, i) => (i * 37) ^ (i >> 3));
  const words = new Int32Array(all.buffer);
  for (let start = 0; start < 9; start++) {
    for (let end = start; end < 100; end++) {
      assert.equal(crc32cWords(words, start, end, 7), crc32c(all, start * 4, end * 4, 7));
    }
  }
});
