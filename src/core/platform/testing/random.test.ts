/** FakeRandom: repeatable, even, forkable. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "./random.ts";

void test("the same seed gives the same numbers, another seed others", () => {
  const take = (seed: number): number[] => {
    const random = new FakeRandom(seed);
    return Array.from({ length: 20 }, () => random.next32());
  };
  assert.deepEqual(take(42), take(42));
  assert.notDeepEqual(take(42), take(43));
  assert.notDeepEqual(take(1), take(2 ** 32 + 1));
});

void test("below is even over its range and never reaches the bound", () => {
  const random = new FakeRandom(1);
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
  const one = new FakeRandom(9).fork();
  const two = new FakeRandom(9).fork();
  assert.equal(one.next32(), two.next32());
  assert.equal(one.bytes(5).length, 5);
});

void test("seeded randomness repeats and makes proper version 4 UUIDs", () => {
  const one = new FakeRandom(5);
  const two = new FakeRandom(5);
  assert.equal(one.uuid(), two.uuid());
  assert.match(one.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

void test("the stream of a seed is the one that recorded seeds count on", () => {
  const random = new FakeRandom(42);
  const numbers = Array.from({ length: 4 }, () => random.next32());
  assert.deepEqual(numbers, [2993059876, 2683266877, 3613609488, 3520258888]);
  assert.equal(random.uuid(), "65e7fe20-295a-447c-b349-b99962df5e1c");
  assert.equal(random.fork().below(1000), 132);
});
