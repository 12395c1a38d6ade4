/** Copies of values: whole, and in few blocks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ValuePacker } from "./value-packer.ts";

function filled(bytes: number, byte: number): Uint8Array {
  return new Uint8Array(bytes).fill(byte);
}

test("small values lie side by side, each with its own bytes", () => {
  const packer = new ValuePacker();
  const values = Array.from({ length: 2_000 }, (_, at) => filled(100 + (at % 900), at % 251));
  const copies = values.map((value) => packer.copy(value));
  assert.deepEqual(copies, values);
  const blocks = new Set(copies.map(({ buffer }) => buffer));
  const held = [...blocks].reduce((sum, block) => sum + block.byteLength, 0);
  const live = values.reduce((sum, { length }) => sum + length, 0);
  assert.ok(held < live * 1.5, `${held} bytes in ${blocks.size} blocks for ${live}`);
});

test("a few values take a small block, not a large one", () => {
  const packer = new ValuePacker();
  assert.ok(packer.copy(filled(100, 1)).buffer.byteLength <= 16 * 1024);
});

test("a large value has memory of its own", () => {
  const packer = new ValuePacker();
  const large = packer.copy(filled(200_000, 1));
  assert.equal(large.buffer.byteLength, large.length);
  const next = packer.copy(filled(100_000, 2));
  assert.notEqual(next.buffer, large.buffer);
  assert.deepEqual(next, filled(100_000, 2));
});
