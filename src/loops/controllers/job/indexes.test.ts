/** Completion indexes as text and as sets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import * as indexes from "./indexes.ts";

const texts: readonly (readonly [string, number, string])[] = [
  ["", 10, ""],
  ["0", 10, "0"],
  ["0,1", 10, "0,1"],
  ["0-2", 10, "0-2"],
  ["1,3-5,7", 10, "1,3-5,7"],
  ["1,2,3", 10, "1-3"],
  ["7,1", 10, "1,7"],
  ["3-9", 5, "3,4"],
  ["9", 5, ""],
  ["a,1-b,2,-3,4-", 10, "2"],
  ["5-3,6", 10, "6"],
];
for (const [text, completions, expected] of texts) {
  test(`"${text}" below ${completions} is "${expected}"`, () => {
    assert.equal(indexes.formatIndexes(indexes.parseIndexes(text, completions)), expected);
  });
}

const sets = fc.uniqueArray(fc.nat(60), { maxLength: 40 });

test("ranges are the sets they stand for: text, union, overlap, membership, what is free", () => {
  fc.assert(
    fc.property(sets, sets, fc.nat(70), (a, b, count) => {
      const [left, right] = [indexes.indexesOf(a), indexes.indexesOf(b)];
      const parsed = indexes.parseIndexes(indexes.formatIndexes(left), 61);
      assert.deepEqual(parsed, left);
      assert.equal(indexes.countOf(left), a.length);
      const both = new Set([...a, ...b]);
      assert.deepEqual(indexes.union(left, right), indexes.indexesOf(both));
      assert.equal(indexes.overlap(left, right), a.length + b.length - both.size);
      for (let index = 0; index < 61; index++)
        assert.equal(indexes.hasIndex(left, index), a.includes(index));
      const free = Array.from({ length: 61 }, (_one, at) => at).filter((at) => !a.includes(at));
      assert.deepEqual(indexes.firstFree(left, 61, count), free.slice(0, count));
    }),
  );
});
