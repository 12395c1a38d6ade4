/** Parts put together are theirs no more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes } from "./bytes.ts";

test("parts follow each other, empty ones and none included, in a copy", () => {
  const parts = [Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)];
  const whole = concatBytes(parts);
  parts[0]?.fill(9);
  assert.deepEqual([...whole], [1, 2, 3]);
  assert.equal(concatBytes([]).length, 0);
});
