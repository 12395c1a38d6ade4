/** Every kind of the upstream test data decodes from protobuf to exactly its JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { objectLimits } from "#api/json/object-limits.ts";
import { resourceSamples } from "#api/testing/upstream.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { decodeProtobuf } from "./decode.ts";

for (const { info, object, protobuf } of resourceSamples()) {
  const { group, version, kind } = info;
  test(`${group}/${version} ${kind} decodes from protobuf to its JSON`, () => {
    const envelope = readEnvelope(protobuf);
    const { apiVersion, kind: named } = envelope;
    const decoded = { apiVersion, kind: named, ...decodeProtobuf(info, envelope.raw) };
    assert.deepEqual(decoded, object);
  });
}

/** One field with a length, of fewer than 128 bytes. */
function short(number: number, bytes: Uint8Array | string): Buffer {
  const value = Buffer.from(bytes);
  return Buffer.concat([Buffer.from([number * 8 + 2, value.length]), value]);
}

const configMap = { group: "", version: "v1", kind: "ConfigMap" };
const dataEntry = (key: string, value: string): Buffer =>
  short(2, Buffer.concat([short(1, key), short(2, value)]));

test("a map keeps a key that Object.prototype holds", () => {
  const raw = Buffer.concat([dataEntry("__proto__", "a"), dataEntry("constructor", "b")]);
  const data = decodeProtobuf(configMap, raw)?.["data"] as object;
  assert.deepEqual(Object.entries(data), [
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});

test("a map of more keys than an object may have is given up at the limit", () => {
  const entries = Array.from({ length: objectLimits.keysMax + 1 }, (_, at) =>
    dataEntry(`${at}`, ""),
  );
  assert.throws(() => decodeProtobuf(configMap, Buffer.concat(entries)), /8192 different keys/);
  assert.ok(decodeProtobuf(configMap, Buffer.concat(entries.slice(1))));
});
