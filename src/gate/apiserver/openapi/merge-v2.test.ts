/** OpenAPI version 2 of several servers in one document. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#api/object.ts";
import { mergeV2, partOfV2 } from "./merge-v2.ts";

const reference = (name: string): JsonObject => ({ $ref: `#/definitions/${name}` });
const own: JsonObject = {
  swagger: "2.0",
  paths: { "/a": { get: reference("Meta") } },
  definitions: { Meta: { type: "object", description: "ours" } },
};

test("without others the document is the same one", () => {
  assert.equal(mergeV2(own, []), own);
});

test("definitions that differ get another name, equal ones are shared, and ours stay", () => {
  const other: JsonObject = {
    paths: { "/b": { get: [reference("Meta"), reference("Same")] }, "/a": { get: "theirs" } },
    definitions: {
      Meta: { type: "object", properties: { x: reference("Meta") } },
      Same: { type: "string" },
    },
  };
  const tags = [{ kind: "Same" }];
  const withSame: JsonObject = {
    ...own,
    definitions: {
      Meta: { type: "object", description: "ours" },
      Same: { type: "string", "x-kubernetes-group-version-kind": tags },
    },
  };
  const merged = JSON.parse(JSON.stringify(mergeV2(withSame, [other, other]))) as JsonObject;
  assert.deepEqual(merged["paths"], {
    "/a": { get: reference("Meta") },
    "/b": { get: [reference("Meta_v2"), reference("Same")] },
  });
  const definitions = merged["definitions"] as JsonObject;
  assert.deepEqual(definitions["Meta"], { type: "object", description: "ours" });
  assert.deepEqual(definitions["Meta_v2"], {
    type: "object",
    properties: { x: reference("Meta_v2") },
  });
  assert.deepEqual(own["paths"], { "/a": { get: reference("Meta") } });
});

test("of another server's document only one group-version is taken, with what it leads to", () => {
  const document: JsonObject = {
    paths: { "/apis/g/v1/x": reference("X"), "/apis/g/v1beta1/x": reference("Y"), "/api/v1/s": 1 },
    definitions: { X: reference("Z"), Y: {}, Z: {}, __proto__: {} },
  };
  assert.deepEqual(JSON.parse(JSON.stringify(partOfV2(document, "/apis/g/v1/"))), {
    paths: { "/apis/g/v1/x": reference("X") },
    definitions: { X: reference("Z"), Z: {} },
  });
  assert.throws(() => partOfV2({ paths: [] }, "/"), TypeError);
});

test("parameters that the operations of another server share are written out", () => {
  const shared = { $ref: "#/parameters/name-a1" };
  const name = { in: "path", name: "name", type: "string" };
  const document: JsonObject = {
    paths: {
      "/apis/g/v1/x": { get: { parameters: [shared, { name: "own" }] }, parameters: [shared] },
    },
    parameters: { "name-a1": name },
  };
  assert.deepEqual(JSON.parse(JSON.stringify(partOfV2(document, "/apis/g/v1/"))), {
    paths: { "/apis/g/v1/x": { get: { parameters: [name, { name: "own" }] }, parameters: [name] } },
    definitions: {},
  });
  assert.throws(() => partOfV2({ ...document, parameters: {} }, "/apis/g/v1/"), TypeError);
});
