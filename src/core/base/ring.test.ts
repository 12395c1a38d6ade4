/** Ring: what is kept, what is dropped, which indices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ring } from "./ring.ts";

void test("a full ring drops its oldest item, and indices stay with their items", () => {
  const ring = new Ring<string>(3);
  assert.equal(ring.push("a"), undefined);
  ring.push("b");
  ring.push("c");
  assert.equal(ring.isFull, true);
  assert.equal(ring.push("d"), "a");
  assert.deepEqual([ring.oldest, ring.next, ring.size], [1, 4, 3]);
  assert.deepEqual(
    [ring.get(0), ring.get(1), ring.get(3), ring.get(4)],
    [undefined, "b", "d", undefined],
  );
});

void test("shift empties it in order, and clear keeps the count going", () => {
  const ring = new Ring<number>(2);
  ring.push(1);
  ring.push(2);
  assert.deepEqual([ring.shift(), ring.shift(), ring.shift()], [1, 2, undefined]);
  ring.push(3);
  ring.clear();
  assert.deepEqual([ring.size, ring.oldest, ring.next], [0, 3, 3]);
  assert.throws(() => new Ring(0), /capacity/);
});
