/** Every kind of the upstream test data encodes from its JSON to exactly upstream's bytes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { parseExactJson } from "#base/exact-json.ts";
import { resourceSamples } from "#api/testing/upstream.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { encodeProtobuf } from "./encode.ts";
import { objectBytes } from "./envelope.ts";

for (const { info, object, protobuf } of resourceSamples()) {
  const { group, version, kind } = info;
  test(`${group}/${version} ${kind} encodes to upstream's bytes`, () => {
    assert.equal(hex(encodeProtobuf(info, object)), hex(readEnvelope(protobuf).raw));
  });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Sparse objects, where zeros, nils and embedded structs differ: an object and upstream's bytes of it. */
const sparse = readFileSync(join(import.meta.dirname, "testdata", "sparse.txt"), "utf8")
  .trim()
  .split("\n\n")
  .map((pair) => pair.split("\n"));

for (const [json = "", expected = ""] of sparse) {
  const object = JSON.parse(json) as AnyObject; // the test's own data
  test(`a sparse ${object.kind} encodes to upstream's bytes`, () => {
    assert.equal(hex(objectBytes(object)), expected);
  });
}

test("an integer that no double holds keeps its digits", () => {
  const json =
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","generation":9007199254740993}}';
  const object = parseExactJson(json) as AnyObject; // as written
  const bytes = encodeProtobuf({ group: "", version: "v1", kind: "Pod" }, object);
  assert.ok(hex(bytes).includes("3881808080808080" + "10"), hex(bytes));
});

test("the data of a ControllerRevision travels in the spelling of Go's encoder", () => {
  const data = { spec: { template: { $patch: "replace", note: "a < b & c > d" } } };
  const revision = { apiVersion: "apps/v1", kind: "ControllerRevision", data, revision: 1 };
  const gvk = { group: "apps", version: "v1", kind: "ControllerRevision" };
  const text = Buffer.from(encodeProtobuf(gvk, revision)).toString();
  assert.ok(text.includes(String.raw`"note":"a \u003c b \u0026 c \u003e d"`), text);
});
