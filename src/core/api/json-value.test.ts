/** Equality of JSON values. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonEqual } from "./json/json-value.ts";

test("equality of JSON is that of its parsed text, whatever the order of keys", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      assert.equal(jsonEqual(a, structuredClone(a)), true);
      const sorted = (value: unknown): string => JSON.stringify(value, sortKeys);
      assert.equal(jsonEqual(a, b), sorted(a) === sorted(b));
    }),
  );
  assert.equal(jsonEqual({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(jsonEqual([1], { 0: 1 }), false);
});

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
