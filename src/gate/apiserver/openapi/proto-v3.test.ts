/**
 * Tests version 3 documents in protobuf. `testdata/openapi-v3.json` has a document with every construct that occurs,
 * and the encoding of it by gnostic's own library (gnostic-models 0.7.0), as in kube-openapi's handler.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import { openapiV3Names } from "./documents.ts";
import { readOpenapiV3 } from "./testing/proto-v3-reader.ts";
import { encodeOpenapiV3, openapiV3Document } from "./testing/whole-documents.ts";

interface Recorded {
  readonly document: JsonObject;
  readonly protobuf: string;
}

const file = new URL("testdata/openapi-v3.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")) as Recorded;
const surface = { version: "v1.36.0", resources: stableResources(), custom: [] };

test("a document in protobuf says what gnostic's library says, absent and empty values included", () => {
  const theirs = readOpenapiV3(Buffer.from(recorded.protobuf, "base64"));
  const ours = readOpenapiV3(encodeOpenapiV3(recorded.document));
  assert.deepEqual(ours, theirs);
  assert.deepEqual(withoutEmpty(ours), withoutEmpty(recorded.document));
});

test("every built-in document comes back out of its protobuf form", () => {
  for (const name of openapiV3Names(surface)) {
    const document = openapiV3Document(surface, name);
    assert.ok(document);
    const back = readOpenapiV3(encodeOpenapiV3(document));
    assert.deepEqual(withoutEmpty(back), withoutEmpty(document), name);
  }
});

/** Protobuf has no empty texts, lists and maps, and no place for a default that is an object or a list. */
function withoutEmpty(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => withoutEmpty(item));
  const kept = Object.entries(value as JsonObject).flatMap(([key, member]) => {
    if (key === "default" && (typeof member === "object" || member === undefined)) return [];
    const shown = withoutEmpty(member ?? null);
    return key !== "default" && isEmpty(shown) ? [] : [[key, shown] as const];
  });
  return Object.fromEntries(kept);
}

function isEmpty(value: JsonValue): boolean {
  if (value === "") return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
