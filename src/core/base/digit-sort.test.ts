/** Rows sorted by counting against the host's sort. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newRows, sortRows } from "./digit-sort.ts";
import { FakeRandom } from "#platform/testing/random.ts";

void test("rows rise by both numbers, and equal ones stay in order", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new FakeRandom(seed);
    const [highMax, lowMax] = [random.pick([1, 5, 2 ** 27]), random.pick([1, 600, 2 ** 27])];
    const rows = newRows(random.below(300));
    const expected = Array.from(rows.index, (_, index) => {
      const row = { high: random.below(highMax), low: random.below(lowMax), index };
      rows.high[index] = row.high;
      rows.low[index] = row.low;
      rows.index[index] = index;
      return row;
    }).toSorted((a, b) => a.high - b.high || a.low - b.low || a.index - b.index);
    const { high, low, index } = sortRows(rows, newRows(rows.index.length));
    const sorted = Array.from(index, (one, i) => ({ high: high[i], low: low[i], index: one }));
    assert.deepEqual(sorted, expected, `seed ${seed}`);
  }
});
