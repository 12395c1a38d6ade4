/** JSON: bounds, duplicate keys, errors in Go's words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseExactJson } from "#base/exact-json.ts";
import { decodeUtf8, parseJson, parseJsonNotingDuplicates, tryJson } from "./json.ts";
import { scanJson } from "./json-scan.ts";

const limits = { bytesMax: 1 << 20, depthMax: 64 };

function errorOf(text: string): string {
  const result = parseJson(text, limits);
  return result.kind === "error" ? result.message : "";
}

test("what JSON.parse makes of a text is what comes out", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const result = parseJsonNotingDuplicates(text, limits);
      assert.deepEqual(result, { kind: "ok", value: parseExactJson(text) });
      assert.equal(scanJson(text).error, undefined);
    }),
  );
});

test("syntax errors are told in Go's words", () => {
  const cases = {
    "": "unexpected end of JSON input",
    "{": "unexpected end of JSON input",
    hello: "invalid character 'h' looking for beginning of value",
    "{a": "invalid character 'a' looking for beginning of object key string",
    '{"a" 1': "invalid character '1' after object key",
    '{"a":1 "b"': "invalid character '\"' after object key:value pair",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    "[1 2": "invalid character '2' after array element",
    "[tru]": "invalid character ']' in literal true (expecting 'e')",
    '"a\\x"': "invalid character 'x' in string escape code",
    '"a\nb"': "invalid character '\\n' in string literal",
    "1.": "unexpected end of JSON input",
    "-x": "invalid character 'x' in numeric literal",
    "{} {}": "invalid character '{' after top-level value",
    "kind: Pod": "invalid character 'k' looking for beginning of value",
  };
  for (const [text, message] of Object.entries(cases)) assert.equal(errorOf(text), message, text);
});

test("a byte order mark is no JSON", () => {
  const text = decodeUtf8(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]));
  assert.match(errorOf(text), /looking for beginning of value/);
});

test("nesting and size are bounded before anything recursive sees the text", () => {
  assert.equal(errorOf("[".repeat(65) + "]".repeat(65)), "exceeded max depth");
  assert.equal(errorOf("[".repeat(64) + "]".repeat(64)), "");
  assert.match(errorOf(`"${"x".repeat(limits.bytesMax)}"`), /exceeds the limit/);
});

test("an integer keeps all 64 bits; beyond them it is rounded as in Go", () => {
  const result = parseJson('{"a":9007199254740993,"b":9223372036854775808,"c":7}', limits);
  assert.ok(result.kind === "ok");
  assert.deepEqual(result.value, { a: 9007199254740993n, b: 2 ** 63, c: 7 });
});

test("a number beyond every double is told, in JSON and in what may be YAML", () => {
  const result = parseJson('{"a":[1e400]}', limits);
  assert.ok(result.kind === "ok");
  assert.equal(result.overflow, "1e400");
  assert.equal(tryJson('{"a":[1e400]}', limits), undefined);
});

test("duplicate keys are found with their paths, and the last one wins", () => {
  const text = '{"a":1,"b":{"c":[{"d":1,"e":2,"d":3}],"c:":":"},"a":2,"a":3}';
  const result = parseJsonNotingDuplicates(text, limits);
  assert.ok(result.kind === "ok");
  assert.deepEqual(result.value, { a: 3, b: { c: [{ d: 3, e: 2 }], "c:": ":" } });
  assert.deepEqual(
    result.duplicates?.duplicates.map((d) => d.path),
    [["b", "c", 0, "d"], ["a"]],
  );
  assert.deepEqual(result.duplicates?.ordersOf([["b", "c"], ["a"], ["b", "x"]]), [2, 0, undefined]);
});

test("a text of too many parts or of too many different keys is refused before it is parsed", () => {
  const bounded = { ...limits, partsMax: 100, keysMax: 10_000 };
  const list = (count: number): string => `[${Array(count).fill("1").join(",")}]`;
  assert.equal(parseJson(list(100), bounded).kind, "ok");
  assert.deepEqual(parseJson(list(101), bounded), {
    kind: "too-many",
    message: "more than 100 values",
  });
  assert.equal(parseJson('{"a":",,[[{{"}', { ...bounded, partsMax: 1 }).kind, "ok");
  const keys = (count: number): string =>
    `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join(",")}}`;
  const many = { ...bounded, partsMax: 100_000 };
  assert.equal(parseJson(keys(10_000), many).kind, "ok");
  assert.equal(parseJson(keys(10_001), many).kind, "too-many");
  assert.equal(parseJson(`[${Array(20_000).fill('{"k":0}').join(",")}]`, many).kind, "ok");
});

test("quotes and backslashes in strings do not mislead the count of keys", () => {
  const value = { 'a":"b': '\\":{', "c\\": ["\\\\", '"'], "": { "": ":" } };
  assert.deepEqual(parseJsonNotingDuplicates(JSON.stringify(value), limits), { kind: "ok", value });
});
