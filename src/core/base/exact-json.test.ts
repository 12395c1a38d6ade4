/** Integers of 64 bits through JSON texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { exactInteger, literalOf, parseExactJson, parseNumbers } from "./exact-json.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test("an integer of 64 bits comes out of a text as it went in", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ a: int64, b: fc.string(), c: fc.array(int64) })), (rows) => {
      const value = rows.map(({ a, b, c }) => ({ a: exactInteger(a), b, c: c.map(exactInteger) }));
      const text = `[${rows.map(rowText).join(",")}]`;
      assert.deepEqual(parseExactJson(text), value);
      assert.equal(JSON.stringify(parseExactJson(text)), text);
      assert.deepEqual(structuredClone(parseExactJson(text)), value);
    }),
  );
});

function rowText(row: { readonly a: bigint; readonly b: string; readonly c: readonly bigint[] }) {
  return `{"a":${row.a},"b":${JSON.stringify(row.b)},"c":[${row.c.join(",")}]}`;
}

test("what a number holds is a number, wherever the digits stand in the text", () => {
  for (let before = 0; before < 40; before++) {
    const space = " ".repeat(before);
    assert.equal(parseExactJson(`${space}9007199254740991`), 9007199254740991);
    assert.equal(parseExactJson(`${space}9007199254740992`), 9007199254740992n);
    assert.equal(parseExactJson(`${space}-9007199254740993${space}`), -9007199254740993n);
  }
});

test("beyond 64 bits, and with a fraction, a literal is the nearest double", () => {
  const text = "[9223372036854775808,-9223372036854775809,9007199254740993.0,1e20,-0]";
  const wanted = [2 ** 63, -(2 ** 63), 9007199254740992, 1e20, -0];
  assert.deepEqual(parseExactJson(text), wanted);
});

test("a literal that its number does not print is known, where it was asked for", () => {
  const numbers = { hasOddNumbers: true, areLiteralsNoted: true };
  const { value } = parseNumbers('{"a":1.0,"b":1e3,"c":[7,2.50],"d":1.5}', numbers);
  const object = value as { readonly c: readonly number[] }; // as written
  const found = ["a", "b", "d"].map((key) => literalOf(object, key));
  assert.deepEqual([...found, literalOf(object.c, 1)], ["1.0", "1e3", undefined, "2.50"]);
  const silent = parseNumbers("[1.0]", { ...numbers, areLiteralsNoted: false });
  assert.equal(literalOf(silent.value as object, 0), undefined);
});

test("the first literal beyond every double is told, shortened", () => {
  const numbers = { hasOddNumbers: true, areLiteralsNoted: true };
  assert.equal(parseNumbers('{"a":[1e400,-1e999]}', numbers).overflow, "1e400");
  const { overflow } = parseNumbers(`[${"9".repeat(100_000)}]`, numbers);
  assert.equal(overflow, `${"9".repeat(1024)}...`);
  assert.equal(parseNumbers("[1e308]", numbers).overflow, undefined);
});
