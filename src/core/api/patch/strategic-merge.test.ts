/** Strategic merge: upstream's cases restated on a small recursive schema, one row each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../object.ts";
import type { FieldSchema, ObjectSchema } from "../schema/schema-types.ts";
import { ApiError } from "../status.ts";
import { strategicMergePatch } from "./strategic-merge.ts";

const itemRef: FieldSchema = { type: "object", ref: "Item" };
const byName = { patchStrategy: "merge", patchMergeKey: "name" } as const;
const fields: Record<string, FieldSchema> = {
  name: { type: "string" },
  value: { type: "string" },
  other: { type: "string" },
  mergingList: { type: "array", items: itemRef, ...byName },
  nonMergingList: { type: "array", items: itemRef },
  mergingIntList: { type: "array", items: { type: "integer" }, patchStrategy: "merge" },
  nonMergingIntList: { type: "array", items: { type: "integer" } },
  simpleMap: { type: "map", items: { type: "string" } },
  itemMap: { type: "map", items: itemRef },
  replacedItem: { type: "object", ref: "Item", patchStrategy: "replace" },
  retainKeysMap: { type: "object", ref: "Item", patchStrategy: "retainKeys" },
  retainKeysMergingList: {
    type: "array",
    items: itemRef,
    patchStrategy: "merge,retainKeys",
    patchMergeKey: "name",
  },
};
const item: ObjectSchema = { name: "Item", fields, required: [] };
const lookup = (name: string): ObjectSchema | undefined => (name === "Item" ? item : undefined);

function merged(original: JsonObject, patch: unknown): unknown {
  return strategicMergePatch(original, patch, item, lookup);
}

type Case = readonly [string, JsonObject, unknown, unknown];

const n = (name: number, more: JsonObject = {}): JsonObject => ({ name, ...more });

const cases: readonly Case[] = [
  ["an empty patch changes nothing", { name: "a" }, {}, { name: "a" }],
  ["a field is added", { name: "a" }, { value: "b" }, { name: "a", value: "b" }],
  ["null deletes a field", { name: "a", value: "b" }, { value: null }, { name: "a" }],
  ["null for an absent field is nothing", { name: "a" }, { value: null }, { name: "a" }],
  [
    "nulls inside a new value are dropped",
    {},
    { simpleMap: { a: "1", b: null } },
    { simpleMap: { a: "1" } },
  ],
  [
    "maps merge by key",
    { simpleMap: { a: "1", b: "2" } },
    { simpleMap: { b: null, c: "3" } },
    { simpleMap: { a: "1", c: "3" } },
  ],
  [
    "maps of objects merge by key and by field",
    { itemMap: { a: n(1, { mergingList: [n(1)] }) } },
    { itemMap: { a: { mergingList: [n(2)] } } },
    { itemMap: { a: n(1, { mergingList: [n(2), n(1)] }) } },
  ],
  [
    "scalars in a merging list are unique",
    { mergingIntList: [1, 2] },
    { mergingIntList: [2, 3] },
    { mergingIntList: [1, 2, 3] },
  ],
  [
    "$patch: delete empties a nested map",
    { simpleMap: { a: "1" } },
    { simpleMap: { $patch: "delete" } },
    { simpleMap: {} },
  ],
  [
    "$patch: replace in a list replaces it",
    { mergingList: [n(1), n(2)] },
    { mergingList: [n(3), { $patch: "replace" }] },
    { mergingList: [n(3)] },
  ],
  [
    "$patch: replace alone empties a list",
    { mergingList: [n(1), n(2)] },
    { mergingList: [{ $patch: "replace" }] },
    { mergingList: [] },
  ],
  ["empty merging lists stay", { mergingList: [] }, { mergingList: [] }, { mergingList: [] }],
  ["$patch: replace deletes all keys", n(1, { value: "1" }), { $patch: "replace" }, {}],
  [
    "$patch: replace keeps what the patch says",
    n(1, { value: "1" }),
    { other: "a", $patch: "replace" },
    { other: "a" },
  ],
  [
    "$patch: delete removes list elements by key",
    { mergingList: [n(1), n(2, { value: "a" }), n(3)] },
    { mergingList: [n(1, { $patch: "delete" }), n(3, { $patch: "delete" })] },
    { mergingList: [n(2, { value: "a" })] },
  ],
  [
    "a delete of what is not there is nothing, also in a new list",
    {},
    { mergingList: [n(1, { $patch: "delete" }), n(2)] },
    { mergingList: [n(2)] },
  ],
  [
    "a new element goes before the server's own, as kubectl users know it",
    { mergingList: [n(1)] },
    { mergingList: [n(2)] },
    { mergingList: [n(2), n(1)] },
  ],
  [
    "elements merge by key",
    { mergingList: [n(1), n(2, { value: "b" })] },
    { mergingList: [n(2, { other: "c" }), n(3)] },
    { mergingList: [n(1), n(2, { value: "b", other: "c" }), n(3)] },
  ],
  [
    "a non-merging list is replaced",
    { nonMergingList: [n(1), n(2)] },
    { nonMergingList: [n(3)] },
    { nonMergingList: [n(3)] },
  ],
  [
    "merging lists merge within merging lists",
    { mergingList: [n(1, { mergingList: [n(1), n(2)] })] },
    { mergingList: [n(1, { mergingList: [n(2, { value: "x" })] })] },
    { mergingList: [n(1, { mergingList: [n(1), n(2, { value: "x" })] })] },
  ],
  [
    "the patch's order wins in a merging list",
    { mergingList: [n(1), n(2, { value: "b" }), n(3)] },
    { mergingList: [n(3, { value: "c" }), n(1, { value: "a" }), n(2, { other: "x" })] },
    {
      mergingList: [n(3, { value: "c" }), n(1, { value: "a" }), n(2, { value: "b", other: "x" })],
    },
  ],
  [
    "the server's own elements keep their place before a later one",
    { mergingList: [n(1), n(2, { value: "b" }), n(3)] },
    { mergingList: [n(3, { value: "c" }), n(1, { value: "a" })] },
    { mergingList: [n(2, { value: "b" }), n(3, { value: "c" }), n(1, { value: "a" })] },
  ],
  [
    "the patch's order wins in a list of scalars",
    { mergingIntList: [1, 2, 3] },
    { mergingIntList: [3, 1] },
    { mergingIntList: [2, 3, 1] },
  ],
  [
    "$setElementOrder orders and may name what is in neither list",
    { mergingList: [n(1), n(3)] },
    {
      "$setElementOrder/mergingList": [n(3), n(2), n(1)],
      mergingList: [n(3, { value: "3" }), n(1, { value: "1" })],
    },
    { mergingList: [n(3, { value: "3" }), n(1, { value: "1" })] },
  ],
  [
    "$setElementOrder alone reorders a list",
    { mergingIntList: [1, 3] },
    { "$setElementOrder/mergingIntList": [3, 2, 1] },
    { mergingIntList: [3, 1] },
  ],
  [
    "$setElementOrder puts a new element in its place",
    { mergingList: [n(1), n(2), n(9)] },
    { "$setElementOrder/mergingList": [n(1), n(3), n(2)], mergingList: [n(3)] },
    { mergingList: [n(1), n(3), n(2), n(9)] },
  ],
  [
    "$setElementOrder with a deletion",
    { mergingList: [n(1), n(2), n(3)] },
    {
      "$setElementOrder/mergingList": [n(3), n(1)],
      mergingList: [n(2, { $patch: "delete" })],
    },
    { mergingList: [n(3), n(1)] },
  ],
  [
    "$setElementOrder with a null deletes the list",
    { mergingList: [n(1)] },
    { "$setElementOrder/mergingList": [], mergingList: null },
    {},
  ],
  [
    "$deleteFromPrimitiveList takes values out",
    { mergingIntList: [1, 2, 3, 2] },
    { "$deleteFromPrimitiveList/mergingIntList": [2, 7] },
    { mergingIntList: [1, 3] },
  ],
  [
    "$deleteFromPrimitiveList, new values and order together",
    { mergingIntList: [1, 2, 3] },
    {
      "$deleteFromPrimitiveList/mergingIntList": [2],
      "$setElementOrder/mergingIntList": [4, 1, 3],
      mergingIntList: [4],
    },
    { mergingIntList: [4, 1, 3] },
  ],
  [
    "$deleteFromPrimitiveList of an absent list is nothing",
    { name: "a" },
    { "$deleteFromPrimitiveList/mergingIntList": [2] },
    { name: "a" },
  ],
  [
    "$retainKeys removes what it does not name",
    { retainKeysMap: { name: "a", value: "b", other: "c" } },
    { retainKeysMap: { $retainKeys: ["name", "other"], name: "z" } },
    { retainKeysMap: { name: "z", other: "c" } },
  ],
  [
    "without $retainKeys a retainKeys map merges",
    { retainKeysMap: { name: "a", value: "b" } },
    { retainKeysMap: { value: null, other: "c" } },
    { retainKeysMap: { name: "a", other: "c" } },
  ],
  [
    "$retainKeys in an element of a merging list",
    { retainKeysMergingList: [n(1, { value: "a" }), n(2)] },
    { retainKeysMergingList: [{ $retainKeys: ["name", "other"], name: 1, other: "b" }] },
    { retainKeysMergingList: [n(1, { other: "b" }), n(2)] },
  ],
  [
    "a map with the strategy replace is replaced",
    { replacedItem: { name: "a", value: "b" } },
    { replacedItem: { other: "c" } },
    { replacedItem: { other: "c" } },
  ],
  ["a value of another type replaces", { value: "80" }, { value: 80 }, { value: 80 }],
  [
    "fields no schema knows merge as maps and replace as lists",
    { unknown: { a: { b: 1 }, l: [1] } },
    { unknown: { a: { c: 2 }, l: [2] } },
    { unknown: { a: { b: 1, c: 2 }, l: [2] } },
  ],
];

for (const [name, original, patch, expected] of cases) {
  test(name, () => {
    const before = JSON.stringify([original, patch]);
    assert.deepEqual(merged(original, patch), expected);
    assert.equal(JSON.stringify([original, patch]), before);
  });
}

type Refusal = readonly [string, JsonObject, unknown, number, RegExp];

const refusals: readonly Refusal[] = [
  [
    "$setElementOrder must agree with the patch list",
    { mergingList: [n(1), n(3)] },
    { "$setElementOrder/mergingList": [n(1), n(3)], mergingList: [n(3), n(1)] },
    400,
    /The order in patch list:[^]* doesn't match \$setElementOrder\//,
  ],
  [
    "an element without merge key cannot merge",
    { mergingList: [n(1)] },
    { mergingList: [{ value: "b" }] },
    500,
    /does not contain declared merge key: name/,
  ],
  ["an unknown directive is refused", n(1), { $patch: "bogus" }, 500, /unknown patch type: bogus/],
  [
    "$retainKeys must name what the patch sets",
    { retainKeysMap: { name: "a" } },
    { retainKeysMap: { $retainKeys: ["name"], value: "b" } },
    400,
    /invalid patch format of retainKeys/,
  ],
  ["a patch that is a list is refused", n(1), [], 400, /cannot unmarshal/],
];

for (const [name, original, patch, code, text] of refusals) {
  test(name, () => {
    assert.throws(
      () => merged(original, patch),
      (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.code, code);
        const cause = error.cause instanceof Error ? error.cause.message : error.message;
        assert.match(cause, text);
        return true;
      },
    );
  });
}

test("a patch applied twice changes nothing the second time", () => {
  const element = fc.record({ name: fc.nat(4), value: fc.constantFrom("a", "b") });
  const list = fc.uniqueArray(element, { selector: (e) => e.name, maxLength: 5 });
  fc.assert(
    fc.property(list, list, (original, patch) => {
      const once = merged({ mergingList: original }, { mergingList: patch }) as JsonObject;
      assert.deepEqual(merged(once, { mergingList: patch }), once);
    }),
  );
});
