/** Parts put together are theirs no more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes, equalBytes } from "./bytes.ts";

test("parts follow each other, empty ones and none included, in a copy", () => {
  const parts = [Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)];
  const whole = concatBytes(parts);
  parts[0]?.fill(9);
  assert.deepEqual([...whole], [1, 2, 3]);
  assert.equal(concatBytes([]).length, 0);
});

test("bytes are equal by length and content, wherever they lie", () => {
  const whole = Uint8Array.of(1, 2, 3, 1, 2, 3);
  assert.ok(equalBytes(whole.subarray(0, 3), whole.subarray(3)));
  assert.ok(!equalBytes(whole.subarray(0, 3), whole.subarray(0, 2)));
  assert.ok(!equalBytes(whole.subarray(0, 3), whole.subarray(1, 4)));
  assert.ok(equalBytes(new Uint8Array(0), new Uint8Array(0)));
});
