/** Heap: order and filtering. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Heap } from "./heap.ts";
import { FakeRandom } from "#platform/testing/random.ts";

void test("items come out in order, whatever the order they went in", () => {
  const random = new FakeRandom(7);
  const heap = new Heap<number>((a, b) => a - b);
  const items = Array.from({ length: 500 }, () => random.below(100));
  for (const item of items) heap.push(item);
  assert.equal(heap.peek(), Math.min(...items));
  const out = Array.from({ length: 500 }, () => heap.pop());
  assert.deepEqual(
    out,
    items.toSorted((a, b) => a - b),
  );
  assert.equal(heap.pop(), undefined);
});

void test("filter drops items and keeps the order of the rest", () => {
  const heap = new Heap<number>((a, b) => a - b);
  for (const item of [5, 3, 8, 1, 9, 2]) heap.push(item);
  heap.filter((item) => item % 2 === 1);
  assert.equal(heap.size, 4);
  assert.deepEqual([heap.pop(), heap.pop(), heap.pop(), heap.pop()], [1, 3, 5, 9]);
});
