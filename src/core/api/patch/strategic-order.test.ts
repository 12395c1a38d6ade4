/** Lists merged by maps come out as lists that are searched element by element. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { JsonObject } from "../object.ts";
import type { ObjectSchema } from "../schema/schema-types.ts";
import { strategicMergePatch } from "./strategic-merge.ts";
import { mergeOrder, partition } from "./strategic-order.ts";

type Item = { readonly id?: string; readonly [field: string]: MutableJson | undefined };

const place = (list: readonly Item[], id: string | undefined): number =>
  list.findIndex((item) => item.id === id);

function searchedSorted(list: readonly Item[], order: readonly Item[]): Item[] {
  return list
    .map((item) => ({ item, at: place(order, item.id) }))
    .sort((a, b) => (a.at < 0 || b.at < 0 ? 0 : a.at - b.at))
    .map(({ item }) => item);
}

function searchedOrder(
  merged: readonly Item[],
  patch: readonly Item[],
  live: readonly Item[],
): Item[] {
  const right = searchedSorted(
    merged.filter((item) => place(patch, item.id) >= 0),
    patch,
  );
  const left = searchedSorted(
    merged.filter((item) => place(patch, item.id) < 0),
    live,
  );
  const out: Item[] = [];
  for (const item of right) {
    const at = place(live, item.id);
    while (left.length > 0 && at >= 0) {
      const own = place(live, left[0]?.id);
      if (own < 0 || own > at) break;
      out.push(left.shift() ?? {});
    }
    out.push(item);
  }
  return [...out, ...left];
}

/** Elements one after the other, each searched in the whole list. */
function searchedMerge(live: readonly Item[], patch: readonly Item[]): Item[] {
  let kept = [...live];
  for (const item of patch) {
    if (item["$patch"] === "delete") kept = kept.filter(({ id }) => id !== item.id);
  }
  const plain = patch.filter((item) => item["$patch"] === undefined);
  const merged = [...kept];
  for (const item of plain) {
    const at = place(merged, item.id);
    if (at < 0) merged.push(item);
    else merged[at] = { ...merged[at], ...item };
  }
  return searchedOrder(merged, plain, kept);
}

const id = fc.constantFrom("a", "b", "c", "d", "e", "f");
const item = fc.record(
  { id, x: fc.nat(3), y: fc.nat(3) },
  { requiredKeys: ["id"], noNullPrototype: true },
);
const patchItem = fc.oneof(item, fc.record({ id, $patch: fc.constant("delete") }));

const schema: ObjectSchema = {
  name: "test.List",
  required: [],
  fields: {
    items: {
      type: "array",
      patchStrategy: "merge",
      patchMergeKey: "id",
      items: { type: "any" },
    },
  },
} as unknown as ObjectSchema; // the fields that a merge reads

test("a list merged by a map of its keys is the list merged by searching", () => {
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 8 }),
      fc.array(patchItem, { maxLength: 8 }),
      (live, patch) => {
        const original = { items: live } as unknown as JsonObject; // plain JSON
        const merged = strategicMergePatch(original, { items: patch }, schema, () => undefined);
        const expected = live.length === 0 && patch.length === 0 ? [] : searchedMerge(live, patch);
        assert.deepEqual((merged as unknown as { items: unknown }).items, expected);
      },
    ),
    { numRuns: 3000 },
  );
});

test("the order of a merged list is the one found by searching", () => {
  const list = fc.array(item, { maxLength: 8 });
  fc.assert(
    fc.property(list, list, list, (merged, patch, live) => {
      const asJson = (items: readonly Item[]): MutableObject[] =>
        items as unknown as MutableObject[];
      const { inside, outside } = partition(asJson(merged), asJson(patch), "id");
      const ordered = mergeOrder(inside, outside, asJson(patch), asJson(live), "id");
      assert.deepEqual(ordered, searchedOrder(merged, patch, live));
    }),
    { numRuns: 3000 },
  );
});
