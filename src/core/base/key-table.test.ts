/** KeyTable against a Map. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyTable } from "./key-table.ts";
import { FakeRandom } from "#platform/testing/random.ts";

void test("any mix of gets and sets agrees with a Map, and keys stay in the order they came", () => {
  for (const [seed, different] of [10, 1000, 30_000].entries()) {
    const random = new FakeRandom(seed);
    const table = new KeyTable<number>();
    const model = new Map<string, number>();
    for (let i = 0; i < 60_000; i++) {
      const key = `/registry/k${random.below(different)}`;
      if (random.chance(0.5)) assert.equal(table.get(key), model.get(key));
      else {
        assert.equal(table.set(key, i), model.get(key));
        model.set(key, i);
      }
    }
    assert.deepEqual(table.keys, [...model.keys()]);
    assert.deepEqual(table.values, [...model.values()]);
    assert.equal(table.size, model.size);
  }
});

/** Keys that all want one place of a table of up to 2^13. The hash is written out again: a change of it shows. */
function colliding(count: number): string[] {
  const found: string[] = [];
  for (let i = 0; found.length < count; i++) {
    const key = `k${i}`;
    let hash = key.length;
    for (const char of key) {
      hash = Math.imul(hash ^ char.charCodeAt(0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    if ((hash & 8191) === 7) found.push(key);
  }
  return found;
}

void test("keys chosen to want one place are kept too, and found", () => {
  const keys = colliding(120);
  const table = new KeyTable<number>();
  keys.forEach((key, i) => assert.equal(table.set(key, i), undefined));
  for (let i = 0; i < 3000; i++) table.set(`other ${i}`, i);
  keys.forEach((key, i) => assert.equal(table.get(key), i));
  assert.equal(table.set(keys[100] as string, -1), 100);
  assert.equal(table.get(keys[100] as string), -1);
});
