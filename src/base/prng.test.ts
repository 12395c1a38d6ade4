/** Prng: repeatable, even, forkable. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Prng } from "./prng.ts";

void test("the same seed gives the same numbers, another seed others", () => {
  const take = (seed: number): number[] => {
    const random = new Prng(seed);
    return Array.from({ length: 20 }, () => random.next32());
  };
  assert.deepEqual(take(42), take(42));
  assert.notDeepEqual(take(42), take(43));
  assert.notDeepEqual(take(1), take(2 ** 32 + 1));
});

void test("below is even over its range and never reaches the bound", () => {
  const random = new Prng(1);
  const seen = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 10_000; i++) {
    const value = random.below(10);
    seen[value] = (seen[value] as number) + 1;
  }
  for (const count of seen) assert.ok(count > 850 && count < 1150, String(seen));
  assert.equal(random.below(1), 0);
  assert.throws(() => random.below(0), /bound/);
});

void test("a fork goes its own way and is decided by the seed", () => {
  const one = new Prng(9).fork();
  const two = new Prng(9).fork();
  assert.equal(one.next32(), two.next32());
  assert.equal(one.bytes(5).length, 5);
});
