/** Protobuf as a client reads and writes it: whole answers, lazy objects, frames, bodies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { headOf } from "#api/json/object-head.ts";
import type { AnyObject } from "#api/object.ts";
import { resourceSamples } from "#api/testing/upstream.ts";
import { concatBytes } from "#base/bytes.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { ProtobufCoding } from "./coding.ts";
import { entryBytes, envelope, listParts, objectBytes, watchFrame } from "./envelope.ts";

const silent = new ProtobufCoding(() => {});
const podType = { apiVersion: "v1", kind: "Pod" };

function podNamed(name: string, phase = "Running") {
  const managed = {
    manager: "m",
    operation: "Update",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": {} },
  };
  return {
    ...podType,
    metadata: {
      name,
      namespace: "a",
      uid: `uid-${name}`,
      resourceVersion: "7",
      managedFields: [managed],
    },
    spec: { containers: [{ name: "c", image: "i", resources: {} }] },
    status: { phase },
  };
}

const listed = [podNamed("one"), podNamed("two", "Pending")];

function listBytes(): Uint8Array {
  const entries = listed.map((pod) => entryBytes(podType, pod));
  const type = { apiVersion: "v1", kind: "PodList" };
  return concatBytes(listParts(type, { resourceVersion: "9", continue: "c" }, entries));
}

for (const { info, object: expected, protobuf } of resourceSamples()) {
  const { group, version, kind } = info;
  test(`${group}/${version} ${kind} reads the same when it is decoded field by field`, () => {
    for (const isFirst of [false, true]) {
      const frame = frameOf(protobuf);
      const object: AnyObject = silent.event(frame, true, isFirst).object;
      assert.equal(headOf(object).name, expected.metadata?.name);
      assert.equal(headOf(object).uid, expected.metadata?.uid);
      assert.equal(headOf(object).resourceVersion, expected.metadata?.resourceVersion);
      assert.deepEqual(object, expected);
      assert.deepEqual(Object.keys(object).toSorted(), Object.keys(expected).toSorted());
      assert.deepEqual(JSON.parse(JSON.stringify(object)), expected);
      assert.deepEqual({ ...object }, expected);
      assert.deepEqual(structuredClone(object), expected);
    }
  });
}

function frameOf(object: Uint8Array): Uint8Array {
  const part = (tag: number, bytes: Uint8Array): Uint8Array =>
    concatBytes([Uint8Array.from([tag, ...varint(bytes.length)]), bytes]);
  return concatBytes([part(0x0a, Buffer.from("ADDED")), part(0x12, part(0x0a, object))]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)];
}

test("a list is its metadata and its items, each saying its kind", () => {
  for (const isLazy of [false, true]) {
    const list = silent.decode(listBytes(), isLazy) as AnyObject & { readonly items: AnyObject[] };
    assert.equal(list.kind, "PodList");
    assert.deepEqual(list.metadata, { resourceVersion: "9", continue: "c" });
    assert.deepEqual(list.items, listed);
  }
});

test("an object shows its fields when it is printed, and its copy can be changed", () => {
  const { object } = silent.event(
    watchFrame("ADDED", podType, podNamed("one")).subarray(4),
    true,
    false,
  );
  assert.match(inspect(object, { depth: 4 }), /phase: 'Running'/);
  assert.match(inspect(object.metadata), /managedFields: \[Getter\]/);
  assert.throws(() => Object.assign(object, { status: {} }), TypeError);
  assert.deepEqual({ ...object, status: {} }, { ...podNamed("one"), status: {} });
});

test("objects of long ago read the same as those of a moment ago", () => {
  const { items } = silent.decode(listBytes(), true) as AnyObject & { readonly items: AnyObject[] };
  const [first] = items;
  const before = first?.metadata;
  const others = Array.from({ length: 300 }, () => silent.decode(listBytes(), true));
  for (const other of others)
    assert.ok((other as typeof first & { items: AnyObject[] }).items[0]?.metadata);
  assert.notEqual(first?.metadata, before);
  assert.deepEqual(items, listed);
});

test("a Status is decoded, as an answer and as the end of a watch", () => {
  const status = {
    apiVersion: "v1",
    kind: "Status",
    status: "Failure",
    code: 410,
    reason: "Expired",
  };
  assert.deepEqual(pick(silent.decode(objectBytes(status), true)), pick(status));
  const type = { apiVersion: "v1", kind: "Status" };
  const event = silent.event(watchFrame("ERROR", type, status).subarray(4), true, false);
  assert.deepEqual([event.type, pick(event.object)], ["ERROR", pick(status)]);
});

function pick(object: object): object {
  const { kind, status, code, reason } = object as Record<string, unknown>;
  return { kind, status, code, reason };
}

test("metadata of any kind is decoded, alone and in lists", () => {
  const type = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
  const object = { ...type, metadata: { name: "x", labels: { a: "b" } } };
  assert.deepEqual(silent.decode(objectBytes(object), false), object);
  const list = { ...type, kind: "PartialObjectMetadataList" };
  const bytes = concatBytes(listParts(list, { resourceVersion: "9" }, [entryBytes(type, object)]));
  const metadata = { resourceVersion: "9" };
  assert.deepEqual(silent.decode(bytes, true), { ...list, metadata, items: [object] });
});

test("a field of a newer server is left out, and told once", () => {
  const told: string[] = [];
  const coding = new ProtobufCoding((message, number) =>
    told.push(`${message.split(".").at(-1)} ${number}`),
  );
  const unknown = Uint8Array.of(0xc2, 0x0c, 1, 0x78); // field 200, "x"
  const spec = Uint8Array.of(0x12, 4, ...unknown);
  for (const isLazy of [true, false, true]) {
    const object = coding.decode(envelope(podType, concatBytes([unknown, spec])), isLazy);
    const { object: lazy } = coding.event(
      frameOf(envelope(podType, concatBytes([unknown, spec]))),
      isLazy,
      false,
    );
    assert.deepEqual(Object.keys(object), ["apiVersion", "kind", "spec"]);
    assert.deepEqual(lazy, object);
  }
  assert.deepEqual(told.toSorted(), ["Pod 200", "PodSpec 200"]);
});

test("what a message cannot hold is not encoded: its sender takes JSON", () => {
  assert.equal(silent.encode({ apiVersion: "example.com/v1", kind: "Widget" }), undefined);
  assert.equal(silent.encode({ metadata: { name: "x" } }), undefined);
  assert.equal(silent.encode({ ...podNamed("x"), spec: { newField: 1 } }), undefined);
  assert.equal(silent.encode({ ...podNamed("x"), spec: { hostNetwork: "yes" } }), undefined);
  const bytes = silent.encode(podNamed("x")) ?? assert.fail();
  assert.deepEqual(silent.decode(bytes, false), podNamed("x"));
});

test("bytes that are no object are refused, with a name", () => {
  const good = objectBytes(podNamed("one"));
  const wrong = Buffer.from(good);
  wrong[0] = 0;
  assert.throws(() => silent.decode(wrong, false), /does not appear to be a protobuf message/);
  assert.throws(() => silent.decode(good.subarray(0, 3), false), ProtobufError);
  assert.throws(() => silent.decode(good.subarray(0, good.length - 20), false), /unexpected EOF/);
  const stranger = envelope({ apiVersion: "v9", kind: "Stranger" }, new Uint8Array(0));
  assert.throws(
    () => silent.decode(stranger, false),
    /no protobuf message of v9 Stranger is known/,
  );
  assert.throws(() => silent.event(new Uint8Array(0), false, false), /holds no object/);
});

test("a field that is broken inside throws when it is read, and the others do not", () => {
  const broken = Uint8Array.of(0x0a, 3, 0x0a, 1, 0x78, 0x12, 2, 0x0a, 9); // a name; a spec that is cut
  const { object } = silent.event(frameOf(envelope(podType, broken)), true, false);
  assert.equal(object.metadata?.name, "x");
  assert.throws(() => object["spec"], /unexpected EOF/);
});
