/** JSON patch and merge patch: what applies, what is refused and with which status. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyJsonPatch, jsonPatchOperationsMax } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { ApiError } from "../status.ts";

const add = (path: string, value: unknown): unknown => ({ op: "add", path, value });

type Case = readonly [string, JsonValue, readonly unknown[], JsonValue];

const cases: readonly Case[] = [
  ["add sets a member", { a: 1 }, [add("/b", 2)], { a: 1, b: 2 }],
  ["add replaces a member", { a: 1 }, [add("/a", 2)], { a: 2 }],
  ["add inserts into an array", { a: [1, 3] }, [add("/a/1", 2)], { a: [1, 2, 3] }],
  ["add at - appends", { a: [1] }, [add("/a/-", 2)], { a: [1, 2] }],
  ["add at -1 appends", { a: [1] }, [add("/a/-1", 2)], { a: [1, 2] }],
  ["add of null sets null", { a: 1 }, [add("/b", null)], { a: 1, b: null }],
  ["escapes in a path", { a: {} }, [add("/a/x~1y~0z", 1)], { a: { "x/y~z": 1 } }],
  ["~01 is ~1", { "~1": 1 }, [{ op: "remove", path: "/~01" }], {}],
  ["remove takes a member out", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
  ["remove takes an element out", { a: [1, 2] }, [{ op: "remove", path: "/a/0" }], { a: [2] }],
  ["remove at -1 takes the last", { a: [1, 2] }, [{ op: "remove", path: "/a/-1" }], { a: [1] }],
  ["replace sets", { a: 1 }, [{ op: "replace", path: "/a", value: [] }], { a: [] }],
  ["move", { a: { b: 1 } }, [{ op: "move", from: "/a/b", path: "/c" }], { a: {}, c: 1 }],
  [
    "copy",
    { a: [1] },
    [{ op: "copy", from: "/a", path: "/b" }, add("/b/-", 2)],
    { a: [1], b: [1, 2] },
  ],
  [
    "a test that holds",
    { a: { b: [1] } },
    [{ op: "test", path: "/a", value: { b: [1] } }],
    { a: { b: [1] } },
  ],
  ["an absent value tests as null", {}, [{ op: "test", path: "/a", value: null }], {}],
  [
    "the whole document can be tested",
    { a: 1 },
    [{ op: "test", path: "", value: { a: 1 } }],
    { a: 1 },
  ],
];

for (const [name, document, patch, expected] of cases) {
  test(`JSON patch: ${name}`, () => {
    const before = JSON.stringify(document);
    assert.deepEqual(applyJsonPatch(document, patch), expected);
    assert.equal(JSON.stringify(document), before);
  });
}

type Refusal = readonly [string, JsonValue, unknown, number, RegExp];

const refusals: readonly Refusal[] = [
  [
    "no array",
    {},
    {},
    400,
    /^json: cannot unmarshal object into Go value of type jsonpatch.Patch$/,
  ],
  ["an operation that is no object", {}, ["x"], 400, /cannot unmarshal string/],
  ["an unknown operation", {}, [{ op: "frob", path: "/a" }], 422, /^Unexpected kind: frob$/],
  ["no path", {}, [{ op: "add", value: 1 }], 422, /missing value/],
  ["a missing parent", {}, [add("/a/b", 1)], 422, /doc is missing path: "\/a\/b"/],
  [
    "replace of an element that is missing",
    { a: [] },
    [{ op: "replace", path: "/a/0", value: 1 }],
    422,
    /missing key: 0/,
  ],
  ["remove of what is missing", {}, [{ op: "remove", path: "/a" }], 422, /nonexistent key: a/],
  ["an index past the end", { a: [] }, [add("/a/1", 1)], 422, /invalid index/],
  ["no index", { a: [] }, [add("/a/x", 1)], 422, /invalid syntax/],
  ["a test that fails", { a: 1 }, [{ op: "test", path: "/a", value: 2 }], 422, /test failed/],
  ["a root that is added", {}, [add("", 1)], 422, /missing path/],
  ["an inherited member", {}, [{ op: "remove", path: "/constructor" }], 422, /missing/],
  [
    "too many operations",
    {},
    Array.from({ length: jsonPatchOperationsMax + 1 }, () => ({})),
    413,
    /maximum operations in a JSON patch is 10000, got 10001/,
  ],
];

for (const [name, document, patch, code, text] of refusals) {
  test(`JSON patch refuses ${name}`, () => {
    assert.throws(
      () => applyJsonPatch(document, patch),
      (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.code, code);
        assert.match(error.cause instanceof Error ? error.cause.message : error.message, text);
        return true;
      },
    );
  });
}

test("copies that grow the document past the limit are refused", () => {
  const patch: unknown[] = [];
  for (let at = 0; at < 30; at += 1) patch.push({ op: "copy", from: "/a", path: `/a/${at}` });
  const big = { a: { x: "y".repeat(100) } };
  assert.throws(() => applyJsonPatch(big, patch), /rejected our request/);
});

test("a member named __proto__ is data", () => {
  const patched = applyJsonPatch({}, [add("/__proto__", { x: 1 })]);
  assert.equal(JSON.stringify(patched), '{"__proto__":{"x":1}}');
  const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"x":1}}'));
  assert.equal(JSON.stringify(merged), '{"__proto__":{"x":1}}');
});

type MergeCase = readonly [JsonObject, unknown, JsonValue];

/** The table of RFC 7386 where the document is an object, and the corners of the Go library. */
const mergeCases: readonly MergeCase[] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{}, { a: [{ b: null }, null] }, { a: [{}, null] }],
];

for (const [document, patch, expected] of mergeCases) {
  test(`merge patch ${JSON.stringify(patch)} on ${JSON.stringify(document)}`, () => {
    assert.deepEqual(applyMergePatch(document, patch), expected);
  });
}

test("a merge patch that is no object is a bad request", () => {
  assert.throws(() => applyMergePatch({}, []), /Invalid JSON Patch/);
});

test("JSON patch sets a field of a map that replace or copy does not find, as upstream", () => {
  const patch = [
    { op: "replace", path: "/a", value: 1 },
    { op: "copy", from: "/c", path: "/b" },
  ];
  assert.deepEqual(applyJsonPatch({}, patch), { a: 1, b: null });
});
