/** SortedSet against a Map, with snapshots taken on the way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SortedSet } from "./sorted-set.ts";

interface Item {
  readonly key: string;
  readonly n: number;
}

const step = fc.record({
  do: fc.constantFrom("set", "set", "set", "delete", "snapshot"),
  key: fc.integer({ min: 0, max: 2000 }),
});

function contents(set: SortedSet<Item>): Item[] {
  const items: Item[] = [];
  set.scan("", "\xff", (item) => items.push(item) > 0);
  return items;
}

function sorted(model: ReadonlyMap<string, Item>): Item[] {
  return [...model.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

void test("any mix of sets, deletes and snapshots agrees with a Map, snapshots stay as they were", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 2000, size: "max" }), fc.nat(1500), (steps, filled) => {
      const start = Array.from({ length: filled }, (_, n) => ({ key: `k${n + 5000}`, n }));
      const set = SortedSet.from(start);
      const model = new Map<string, Item>(start.map((item) => [item.key, item]));
      const taken: { set: SortedSet<Item>; wanted: Item[] }[] = [];
      steps.forEach((each, n) => {
        const key = `k${each.key}`;
        if (each.do === "snapshot") taken.push({ set: set.snapshot(), wanted: sorted(model) });
        else if (each.do === "delete") {
          assert.equal(set.delete(key), model.get(key));
          model.delete(key);
        } else {
          const item = { key, n };
          assert.equal(set.set(item), model.get(key));
          model.set(key, item);
        }
      });
      taken.push({ set, wanted: sorted(model) });
      for (const { set: one, wanted } of taken.slice(-4)) checkSet(one, wanted);
    }),
    { numRuns: 25 },
  );
});

function checkSet(set: SortedSet<Item>, wanted: readonly Item[]): void {
  assert.deepEqual(contents(set), wanted);
  assert.equal(set.size, wanted.length);
  for (const at of ["", "k1", "k1500", "k999", "k5003", "z"]) {
    assert.equal(set.countRange(at, "\xff"), wanted.filter((item) => item.key >= at).length);
    assert.equal(
      set.get(at),
      wanted.find((item) => item.key === at),
    );
    let first: Item | undefined;
    set.scan(at, "\xff", (item) => {
      first = item;
      return false;
    });
    assert.equal(
      first,
      wanted.find((item) => item.key >= at),
    );
  }
}

void test("a changed snapshot leaves the set it came from alone", () => {
  const set = SortedSet.from([
    { key: "a", n: 1 },
    { key: "b", n: 2 },
  ]);
  const twin = set.snapshot();
  twin.delete("a");
  twin.set({ key: "c", n: 3 });
  assert.equal(set.size, 2);
  assert.equal(set.get("c"), undefined);
  assert.deepEqual(
    contents(twin).map(({ key }) => key),
    ["b", "c"],
  );
});
