/** Selectors as watches keep them: what they match, in how many bytes, at which cost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compactFields, compactLabels, lookupsMax } from "./compact-selector.ts";
import type { FieldSelector } from "./field-selector.ts";
import {
  type LabelRequirement,
  labelsMatch,
  parseLabelSelector,
  selectNothing,
} from "./label-selector.ts";

const key = fc.constantFrom("a", "b", "ab", "c", "constructor", "__proto__", "x.y/z");
const value = fc.constantFrom("", "a", "b", "1", "-2", "+7", "30", "9223372036854775808", "ä\t");
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom("=", "==", "!=", "gt", "lt"),
    values: fc.tuple(value),
  }),
  fc.record({ key, operator: fc.constantFrom("in", "notin"), values: fc.array(value) }),
  fc.record({ key, operator: fc.constantFrom("exists", "!"), values: fc.constant([]) }),
);
/** Requirements that every object meets: they make a selector long. */
const filler = Array.from({ length: 40 }, (_, at): LabelRequirement => ({
  key: `k${at}`,
  operator: at % 2 === 0 ? "!" : "notin",
  values: at % 2 === 0 ? [] : [`v${at}`],
}));
const labels = fc
  .uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 6 })
  .map((entries) => Object.fromEntries(entries));
/** More labels than a long selector has keys. */
const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`l${at}`, "v"]));

test("a compact label selector matches what the selector matches, short and long", () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 6 }), labels, (requirements, own) => {
      const expected = labelsMatch({ requirements }, own);
      assert.equal(compactLabels({ requirements }).matches(own), expected);
      const long = compactLabels({ requirements: [...filler, ...requirements] });
      assert.ok(long.size > 32);
      assert.equal(long.matches(own), expected);
      assert.equal(long.matches({ ...many, ...own }), expected);
    }),
  );
  assert.equal(compactLabels(selectNothing).matches({ "": "" }), false);
  assert.equal(compactLabels({ requirements: [] }).matches({}), true);
});

test("a compact field selector matches what the selector matches, short and long", () => {
  const one = fc.record({ field: key, operator: fc.constantFrom("=", "!="), value });
  const others = Array.from({ length: 40 }, (_, at) => ({
    field: "c",
    operator: "!=" as const,
    value: `v${at}`,
  }));
  fc.assert(
    fc.property(fc.array(one, { maxLength: 4 }), labels, (requirements, own) => {
      const get = (field: string): string => (Object.hasOwn(own, field) ? (own[field] ?? "") : "");
      const selector = { requirements } as FieldSelector;
      const expected = selector.requirements.every(
        (r) => (get(r.field) === r.value) === (r.operator === "="),
      );
      assert.equal(compactFields(selector).matches(get), expected);
      assert.equal(
        compactFields({ requirements: [...others, ...requirements] } as FieldSelector).matches(get),
        expected,
      );
    }),
  );
});

test("what says the same has one text, and what says another has another", () => {
  const text = (selector: string): string => compactLabels(parseLabelSelector(selector)).text;
  assert.equal(text("a,!b,a,!b,!b"), text("!b,a"));
  assert.equal(text("a=1,b!=2"), text("b notin (2),a in (1)"));
  assert.equal(text("a notin (1,2)"), text("a!=2,a!=1"));
  assert.equal(text("a>1,a>7,a>3"), text("a>7"));
  const selectors = ["a", "!a", "a=1", "a!=1", "a in (1,2)", "a=1,a=2", "a>1", "a<1", "a,b", ""];
  assert.equal(new Set(selectors.map(text)).size, selectors.length);
  const field = (value: string): string =>
    compactFields({ requirements: [{ field: "f", operator: "=", value }] }).text;
  const values = ["a", "a\tb", "a\nb", '"a"', "[", '0f"\t'];
  assert.equal(new Set(values.map(field)).size, values.length);
});

const numbers = Array.from({ length: 10_000 }, (_, at) => at);

const long: readonly (readonly [string, string, number])[] = [
  ["one key 19,000 times", Array(19_000).fill("!a").join(), 1],
  ["10,000 keys", numbers.map((n) => `!a${n}`).join(), 10_000],
  ["10,000 values", `a in (${numbers.map((n) => `v${n}`).join()})`, 10_001],
  ["10,000 bounds", numbers.map((n) => `a>${n}`).join(), 2],
  ["10,000 forbidden values one by one", numbers.map((n) => `a!=v${n}`).join(), 10_001],
];

for (const [name, text, size] of long) {
  test(`a selector of ${name} keeps at most five times its text`, () => {
    const selector = compactLabels(parseLabelSelector(text));
    assert.equal(selector.size, size);
    assert.ok(selector.bytes <= 5 * text.length, `${selector.bytes} of ${text.length}`);
  });
}

test("a selector costs at most as many look-ups as the object can have labels", () => {
  assert.equal(lookupsMax(10_000, 1, 700), 100);
  assert.equal(lookupsMax(10_000, 1, 1 << 20), 10_000);
  assert.equal(lookupsMax(1, 1, 2_000), 1);
});
