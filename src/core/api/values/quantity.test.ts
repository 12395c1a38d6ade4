/** Quantities: canonical texts, refusals, arithmetic. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  QuantityError,
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  subQuantities,
  tryParseQuantity,
  value,
} from "./quantity.ts";

const canonical: readonly (readonly [string | number, string])[] = [
  ["0", "0"],
  ["0.0", "0"],
  ["-0", "0"],
  ["0Gi", "0"],
  ["1000m", "1"],
  ["0.5Gi", "512Mi"],
  ["1.5", "1500m"],
  ["100m", "100m"],
  [".5", "500m"],
  ["5.", "5"],
  ["+7", "7"],
  ["007", "7"],
  ["1024", "1024"],
  ["1024Ki", "1Mi"],
  ["1023Ki", "1023Ki"],
  ["0.5Ki", "512"],
  ["100Ki", "100Ki"],
  ["1000k", "1M"],
  ["1100k", "1100k"],
  ["1e3", "1e3"],
  ["1E3", "1e3"],
  ["12e3", "12e3"],
  ["1e4", "10e3"],
  ["1e-3", "1e-3"],
  ["1e0", "1"],
  ["1E", "1E"],
  ["1000E", "1000E"],
  ["1n", "1n"],
  ["0.1n", "1n"],
  ["-0.1n", "-1n"],
  ["1u", "1u"],
  ["0.001m", "1u"],
  ["-1.5Gi", "-1536Mi"],
  ["0.000001Ki", "1024u"],
  ["1.000001Ki", "1024001024u"],
  ["8Ei", "9223372036854775807"],
  ["9223372036854775807", "9223372036854775807"],
  ["3.0k", "3k"],
  [" 2 ", "2"],
  [2.5, "2500m"],
  [1500000000, "1500M"],
];

for (const [text, expected] of canonical) {
  test(`the quantity ${JSON.stringify(text)} prints as ${expected}`, () => {
    assert.equal(canonicalQuantity(text), expected);
  });
}

const refused: readonly (readonly [string, RegExp])[] = [
  ["", /must match the regular expression/],
  ["1.1.1", /must match the regular expression/],
  ["1+", /suffix/],
  ["1 m", /must match the regular expression/],
  ["abc", /must match the regular expression/],
  ["Ki", /numeric part/],
  [".", /numeric part/],
  ["+", /numeric part/],
  ["1K", /suffix/],
  ["1e", /suffix/],
  ["1mi", /suffix/],
  ["1e1000000000", /suffix/],
];

for (const [text, message] of refused) {
  test(`"${text}" is no quantity`, () => {
    assert.throws(() => parseQuantity(text), message);
    assert.equal(tryParseQuantity(text), undefined);
  });
}

test("whole and milli values round up, away from zero", () => {
  assert.equal(value(parseQuantity("1500m")), 2);
  assert.equal(value(parseQuantity("-1500m")), -2);
  assert.equal(milliValue(parseQuantity("1.0001")), 1001);
  assert.equal(milliValue(parseQuantity("250m")), 250);
  assert.equal(value(parseQuantity("1Gi")), 1073741824);
});

test("sums and differences keep the format of the first operand, unless it is zero", () => {
  const show = (a: string, b: string): string =>
    formatQuantity(addQuantities(parseQuantity(a), parseQuantity(b)));
  assert.equal(show("1Gi", "1M"), "1074741824");
  assert.equal(show("0", "1Gi"), "1Gi");
  assert.equal(show("500m", "500m"), "1");
  assert.equal(formatQuantity(subQuantities(parseQuantity("2"), parseQuantity("500m"))), "1500m");
  assert.equal(compareQuantities(parseQuantity("1Ki"), parseQuantity("1024")), 0);
  assert.equal(compareQuantities(parseQuantity("1Ki"), parseQuantity("1k")), 1);
});

test("a canonical text means the same amount and is its own canonical form", () => {
  const suffix = fc.constantFrom("", "n", "u", "m", "k", "M", "Ki", "Mi", "Gi", "e3", "e-2", "E2");
  const number = fc.tuple(fc.integer({ min: -100000, max: 100000 }), fc.nat(999), suffix);
  fc.assert(
    fc.property(number, ([whole, fraction, end]) => {
      const parsed = parseQuantity(`${whole}.${fraction}${end}`);
      const text = formatQuantity(parsed);
      assert.equal(compareQuantities(parseQuantity(text), parsed), 0);
      // As upstream: what no binary suffix fits is a bare number, and a bare number reads as decimal.
      const isBare = parsed.format === "BinarySI" && !text.endsWith("i");
      if (!isBare) assert.equal(canonicalQuantity(text), text);
    }),
  );
});

test("an error is a QuantityError and nothing else escapes", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), (text) => {
      try {
        parseQuantity(text);
      } catch (error) {
        assert.ok(error instanceof QuantityError);
      }
    }),
  );
});
