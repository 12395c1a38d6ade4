/** WatchRanges against looking at every range. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { WatchRanges } from "./watch-ranges.ts";

const point = fc.string({ maxLength: 2, unit: fc.constantFrom("a", "b", "c") });
const range = fc.record({ start: point, end: point, removed: fc.boolean() });

void test("a key finds exactly the ranges that hold it, in order of adding", () => {
  const property = fc.property(
    fc.array(range, { maxLength: 20 }),
    fc.array(point),
    (ranges, keys) => {
      const index = new WatchRanges<(typeof ranges)[number]>();
      for (const one of ranges) index.add(one);
      index.at("a");
      for (const one of ranges) if (one.removed) index.remove(one);
      const left = ranges.filter((one) => !one.removed);
      assert.equal(index.size, left.length);
      for (const key of keys) {
        assert.deepEqual(
          index.at(key),
          left.filter(({ start, end }) => key >= start && key < end),
        );
      }
    },
  );
  fc.assert(property, { numRuns: 300 });
});
