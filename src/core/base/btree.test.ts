/** BTree against a Map, with its own invariants checked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BTree } from "./btree.ts";
import { FakeRandom } from "#platform/testing/random.ts";

void test("any mix of sets and deletes agrees with a Map, and the tree stays whole", () => {
  const key = fc.integer({ min: 0, max: 400 });
  // What is looked up before a step leaves its place behind, which the step must not trust wrongly.
  const step = fc.record({ remove: fc.boolean(), key, looked: key });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1500, size: "max" }), (steps) => {
      const tree = new BTree<number>();
      const model = new Map<string, number>();
      steps.forEach(({ remove, key, looked }, i) => {
        const name = `k${key}`;
        assert.equal(tree.get(`k${looked}`), model.get(`k${looked}`));
        assert.equal(tree.has(name), model.has(name));
        if (remove) assert.equal(tree.delete(name), model.delete(name));
        else {
          assert.equal(tree.set(name, i), model.get(name));
          model.set(name, i);
        }
      });
      tree.check();
      const sorted = [...model].toSorted(([a], [b]) => (a < b ? -1 : 1));
      assert.deepEqual([...tree.entries()], sorted);
      assert.equal(tree.size, model.size);
    }),
    { numRuns: 40 },
  );
});

void test("keys added in order, at random, and removed down to none keep every invariant", () => {
  const tree = new BTree<number>();
  for (let i = 0; i < 20_000; i++) tree.set(String(i).padStart(8, "0"), i);
  tree.check();
  const random = new FakeRandom(3);
  for (let i = 0; i < 20_000; i++) tree.set(`x${random.next32()}`, i);
  tree.check();
  const keys = [...tree.entries()].map(([key]) => key);
  while (keys.length > 0) {
    const at = random.below(keys.length);
    const key = keys[at] as string;
    keys[at] = keys.at(-1) as string;
    keys.pop();
    assert.ok(tree.delete(key));
    if (keys.length % 2500 === 0) tree.check();
  }
  assert.equal(tree.size, 0);
  assert.deepEqual([...tree.entries()], []);
});

void test("loaded keys make a whole tree, whatever their number and order, which goes on as any other", () => {
  for (const count of [0, 1, 15, 16, 56, 57, 113, 3136, 3137, 20_000]) {
    const random = new FakeRandom(count);
    const tree = new BTree<number>();
    const model = new Map<string, number>();
    tree.beginLoading();
    for (let i = 0; model.size < count; i++) {
      const key = `/registry/pods/k${random.below(count * 2)}`;
      assert.equal(tree.get(key), model.get(key));
      assert.equal(tree.set(key, i), model.get(key));
      model.set(key, i);
      assert.equal(tree.size, model.size);
    }
    tree.endLoading();
    tree.check();
    const sorted = [...model].toSorted(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual([...tree.entries()], sorted);
    for (let i = 0; i < 200; i++) {
      const key = `/registry/pods/k${random.below(count * 2 + 10)}`;
      if (random.chance(0.5)) assert.equal(tree.delete(key), model.delete(key));
      else {
        assert.equal(tree.set(key, -i), model.get(key));
        model.set(key, -i);
      }
    }
    tree.check();
    assert.equal(tree.size, model.size);
  }
});

void test("while keys are loaded nobody may ask for their order", () => {
  const tree = new BTree<number>();
  tree.beginLoading();
  tree.set("a", 1);
  for (const wrong of [() => tree.delete("a"), () => tree.scan("", undefined, () => true)]) {
    assert.throws(wrong, /loading/);
  }
  tree.endLoading();
  assert.throws(() => tree.beginLoading(), /not empty/);
});

void test("a scan is bounded by start and end and stops when told", () => {
  const tree = new BTree<number>();
  for (let i = 0; i < 300; i++) tree.set(String(i).padStart(3, "0"), i);
  const seen: number[] = [];
  tree.scan("100", "200", (_key, value) => {
    seen.push(value);
    return value < 150;
  });
  assert.deepEqual(
    seen,
    Array.from({ length: 51 }, (_, i) => 100 + i),
  );
  seen.length = 0;
  tree.scan("298", undefined, (_key, value) => void seen.push(value));
  assert.deepEqual(seen, [298, 299]);
  assert.equal(tree.get("299"), 299);
  assert.equal(tree.has("3"), false);
});
