/** The comparison that walks each value twice at most finds what the one that asks at every level finds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { getField, isJsonObject, jsonEqual } from "../json/json-value.ts";
import type { MutableJson } from "../json/json-value.ts";
import { compareValues } from "./compare.ts";
import {
  emptySet,
  memberOnly,
  pathsOf,
  setNode,
  setsEqual,
  sortedElements,
  union,
  unionAll,
} from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldElement } from "./fields-v1.ts";
import type { Shape } from "./shape.ts";
import { fieldShape, formOf, itemShape, itemsByElement, keysOf, listOf, objectOf } from "./walk.ts";

type Side = MutableJson | undefined;
interface Found {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const none: Found = { added: emptySet, modified: emptySet, removed: emptySet };

function compareEachLevel(before: Side, after: Side, shape: Shape): Found {
  if (before === after || (before !== undefined && jsonEqual(before, after))) return none;
  const form = formOf(shape, before, after);
  if (form.kind === "leaf" || (isVoid(before) && isVoid(after))) return compareWhole(before, after);
  const members: [string, Found][] = [];
  if (form.kind === "object") {
    const [left, right] = [objectOf(before), objectOf(after)];
    for (const name of keysOf(left, right)) {
      const at = fieldShape(form.shape, name);
      const found = compareEachLevel(getField(left, name), getField(right, name), at);
      members.push([fieldElement(name), found]);
    }
  } else {
    const [left, right] = [before, after].map((side) => itemsByElement(form.shape, listOf(side)));
    for (const element of new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])) {
      const [a, b] = [left?.get(element) ?? [], right?.get(element) ?? []];
      const whole = (items: MutableJson[]): Side => (items.length === 0 ? undefined : items);
      const found =
        a.length > 1 || b.length > 1
          ? compareWhole(whole(a), whole(b))
          : compareEachLevel(a[0], b[0], itemShape(form.shape));
      members.push([element, found]);
    }
  }
  const of = (which: keyof Found, member: boolean): FieldSet =>
    setNode(
      member,
      members.map(([element, found]) => [element, found[which]]),
    );
  return {
    added: of("added", before === undefined),
    modified: of("modified", false),
    removed: of("removed", after === undefined),
  };
}

function compareWhole(before: Side, after: Side): Found {
  if (before === undefined) return { ...none, added: memberOnly };
  if (after === undefined) return { ...none, removed: memberOnly };
  return jsonEqual(before, after) ? none : { ...none, modified: memberOnly };
}

function isVoid(value: Side): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

const shape: Shape = {
  kind: "map",
  items: {
    kind: "list",
    keys: ["id"],
    keyDefaults: {},
    items: { kind: "map", items: { kind: "deduced" } },
  },
};
const { json } = fc.letrec<{ json: MutableJson }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<MutableJson>(null, 0, 1, "a"),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("json"), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}));
const element = fc.record(
  { id: fc.constantFrom("x", "y", "z"), a: json, b: json },
  { requiredKeys: ["id"], noNullPrototype: true },
);
const value = fc.oneof(
  json,
  fc.dictionary(fc.constantFrom("l", "m"), fc.array(element, { maxLength: 4 }), {
    noNullPrototype: true,
  }),
) as fc.Arbitrary<MutableJson>;

test("what differs is what a comparison that asks at each level says", () => {
  const deduced: Shape = { kind: "deduced" };
  const shapes = fc.constantFrom<Shape>(shape, deduced, { kind: "map", items: deduced });
  const side = fc.option(value, { nil: undefined, freq: 8 });
  fc.assert(
    fc.property(side, side, shapes, (before, after, as) => {
      const found = compareValues(before, after, as);
      const expected = compareEachLevel(before, after, as);
      for (const which of ["added", "modified", "removed"] as const) {
        assert.ok(setsEqual(found[which], expected[which]), which);
      }
    }),
    { numRuns: 5000 },
  );
});

const elements = fc.constantFrom("f:a", "f:b", 'k:{"a":1}', 'v:"x"', "i:0", "i:10");
const { set } = fc.letrec<{ set: FieldSet }>((tie) => ({
  set: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(memberOnly, emptySet),
    fc
      .tuple(fc.boolean(), fc.array(fc.tuple(elements, tie("set")), { maxLength: 4 }))
      .map(([member, children]) => setNode(member, children)),
  ),
}));

test("the union of all is the union one by one", () => {
  fc.assert(
    fc.property(fc.array(set, { maxLength: 6 }), (sets) => {
      assert.ok(setsEqual(unionAll(sets), sets.reduce(union, emptySet)));
    }),
  );
});

test("elements are in the order of their kinds, then of their texts; so many paths are told as asked for", () => {
  fc.assert(
    fc.property(set, fc.nat(5), (one, max) => {
      const kinds = "fkvi";
      const rank = (text: string): string => `${kinds.indexOf(text.charAt(0))}${text}`;
      const sorted = [...one.children.keys()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
      assert.deepEqual(sortedElements(one), sorted);
      assert.deepEqual(pathsOf(one, max), pathsOf(one).slice(0, max));
    }),
  );
});

test("a comparison of values that differ at the bottom only is linear in their depth", () => {
  const deep = (end: number): MutableJson => {
    let at: MutableJson = end;
    for (let level = 0; level < 400; level++) {
      at = { wide: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, i])), z: at };
    }
    return at;
  };
  const found = compareValues(deep(1), deep(2), { kind: "deduced" });
  assert.equal(pathsOf(found.modified)[0]?.length, 400);
});
