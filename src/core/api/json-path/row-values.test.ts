/** The columns of one object: followed once each, and bounded for the whole row. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ColumnPaths, RowValues } from "./row-values.ts";

function list<T>(count: number, item: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

/** 56,000 values. */
const large = {
  spec: Object.fromEntries(list(7_000, (at) => [`k${at}`, [1, 2, 3, 4, 5, 6]])),
  last: "here",
};

/** Counts how often it is read. */
function watched(value: object) {
  const counts = { reads: 0 };
  const object = Object.defineProperty({}, "spec", {
    enumerable: true,
    get() {
      counts.reads++;
      return value;
    },
  });
  return { object, counts };
}

test("equal paths of a row are followed once, and each column gets the value", () => {
  const paths = new ColumnPaths();
  const { object, counts } = watched({ a: { b: 7 } });
  const row = new RowValues(object);
  const values = list(500, () => row.value(paths.parse(".spec.a.b")));
  assert.deepEqual(new Set(values), new Set([7]));
  assert.deepEqual(new Set(list(500, () => row.text(paths.parse(".spec.a.b")))), new Set(["7"]));
  assert.ok(counts.reads <= 2, `${counts.reads} reads`);
});

test("paths that visit much fill the row, and what comes after is empty", () => {
  const paths = new ColumnPaths();
  const row = new RowValues(large);
  assert.equal(row.value(paths.parse(".last")), "here");
  const visited = list(500, (at) => row.value(paths.parse(`.spec..none${at}`)));
  assert.deepEqual(new Set(visited), new Set([undefined]));
  assert.equal(row.value(paths.parse(".last")), "here", "what was followed before stays");
  assert.equal(row.value(paths.parse(".spec.k1[0]")), undefined);
  assert.equal(new RowValues(large).value(paths.parse(".spec.k1[0]")), 1);
});

test("a text that is long, or shown by many columns, counts by its length", () => {
  const paths = new ColumnPaths();
  const row = new RowValues({ text: "x".repeat(1_000_000) });
  const shown = list(5_000, () => row.text(paths.parse(".text"))).filter(
    (one) => one !== undefined,
  );
  assert.ok(shown.length >= 1 && shown.length <= 4, `${shown.length} columns of 1 MB`);
});

test("an object that is too large to be printed is an empty cell", () => {
  const paths = new ColumnPaths();
  const huge = { spec: { deep: list(200_000, () => 1) } };
  assert.equal(new RowValues(huge).text(paths.parse(".spec")), undefined);
  assert.equal(new RowValues({ spec: { a: 1 } }).text(paths.parse(".spec")), '{"a":1}');
});
