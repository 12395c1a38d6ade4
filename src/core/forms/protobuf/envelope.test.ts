/** Lists and frames read back: every item is there, whole, and nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes } from "#base/bytes.ts";
import { readEnvelope, readFields } from "#wire/protobuf.ts";
import { decodeProtobuf } from "./decode.ts";
import {
  entryBytes,
  hasProtobufForm,
  listParts,
  objectBytes,
  objectOfEntry,
  watchFrame,
} from "./envelope.ts";

const podType = { apiVersion: "v1", kind: "Pod" };
const pod = { ...podType, metadata: { name: "a", resourceVersion: "7" } };
const long = { ...podType, metadata: { name: "b", annotations: { text: "é".repeat(20_000) } } };

test("a list is its metadata and the entries, a long one as well", () => {
  const entries = [pod, long].map((object) => entryBytes(podType, object));
  const type = { apiVersion: "v1", kind: "PodList" };
  const bytes = concatBytes(listParts(type, { resourceVersion: "9" }, entries));
  const { apiVersion, kind, raw } = readEnvelope(bytes);
  const decoded = decodeProtobuf({ group: "", version: "v1", kind: "PodList" }, raw) ?? {};
  assert.deepEqual([apiVersion, kind], ["v1", "PodList"]);
  assert.equal((decoded["metadata"] as { resourceVersion: string }).resourceVersion, "9");
  const names = (decoded["items"] as { metadata: object }[]).map(({ metadata }) => metadata);
  assert.deepEqual(names, [pod.metadata, long.metadata]);
});

test("an entry leads back to the object's own bytes", () => {
  for (const object of [pod, long]) {
    assert.deepEqual(objectOfEntry(podType, entryBytes(podType, object)), objectBytes(object));
  }
});

test("a frame says its length, its type and holds the whole object", () => {
  const frame = watchFrame("MODIFIED", podType, pod);
  assert.equal(new DataView(frame.buffer).getUint32(0), frame.length - 4);
  const seen: string[] = [];
  readFields(frame.subarray(4), (field) => {
    if (field.number === 1) seen.push(Buffer.from(field.bytes).toString());
    else readFields(field.bytes, (raw) => assert.deepEqual(copied(raw.bytes), objectBytes(pod)));
  });
  assert.deepEqual(seen, ["MODIFIED"]);
});

test("metadata of a custom object has a form, the object itself and tables have none", () => {
  const partial = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
  assert.equal(hasProtobufForm(partial), true);
  assert.equal(hasProtobufForm({ apiVersion: "example.com/v1", kind: "Widget" }), false);
  assert.equal(hasProtobufForm({ apiVersion: "meta.k8s.io/v1", kind: "Table" }), false);
  const bytes = objectBytes({ ...partial, metadata: { name: "x" } });
  assert.equal(readEnvelope(bytes).kind, "PartialObjectMetadata");
});

test("the list of metadata of v1beta1 has its fields the other way round", () => {
  const type = { apiVersion: "meta.k8s.io/v1beta1", kind: "PartialObjectMetadataList" };
  const item = { ...type, kind: "PartialObjectMetadata" };
  const entry = entryBytes(item, { metadata: { name: "x" } });
  const numbers: number[] = [];
  const { raw } = readEnvelope(concatBytes(listParts(type, { resourceVersion: "9" }, [entry])));
  readFields(raw, (field) => numbers.push(field.number));
  assert.deepEqual(numbers, [1, 2]);
});

function copied(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
