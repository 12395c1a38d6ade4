/** Buffers return to the pool when they are sent, never while they may still be read. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { BufferPool } from "./buffer-pool.ts";

test("a buffer is used again when all of it that was given is sent, and not before", () => {
  const pool = new BufferPool({ bytes: 1000, freeMax: 1 });
  const first = pool.take(900);
  pool.given(first, 700);
  pool.sent([first.subarray(0, 300), Buffer.from("of somebody else")]);
  assert.notEqual(pool.take(1).buffer, first.buffer);
  pool.sent([first.subarray(300, 700)]);
  assert.equal(pool.take(1).buffer, first.buffer);
});

test("no more buffers are kept than allowed, and none of another size", () => {
  const pool = new BufferPool({ bytes: 1000, freeMax: 1 });
  const taken = [pool.take(1000), pool.take(1000), pool.take(1001)];
  for (const buffer of taken) {
    pool.given(buffer, buffer.length);
    pool.sent([buffer]);
  }
  assert.equal(pool.take(1).buffer, taken[0]?.buffer);
  assert.equal(
    taken.some(({ buffer }) => buffer === pool.take(1).buffer),
    false,
  );
});
