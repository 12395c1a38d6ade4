/** Stored bytes to wire bytes and objects, and the budget of what is kept of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import { MemoPool } from "./memo-pool.ts";
import { decodeObject, encodeObject, wireJson } from "./object-bytes.ts";
import { keyOfText, SharedObject, textOfKey } from "./shared-object.ts";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (json: string): Uint8Array => new TextEncoder().encode(json);

const pod: AnyObject = {
  spec: { metadata: { x: "{" } },
  metadata: { name: "a", resourceVersion: "77", labels: { app: 'q"{' } },
  kind: "Pod",
  apiVersion: "v1",
};

function shared(value: Uint8Array, bytesMax = 1 << 20): { object: SharedObject; memos: MemoPool } {
  const memos = new MemoPool({ bytesMax });
  const source = { fieldValue: () => "f", memos, freeze: true };
  return { object: new SharedObject(source, "ns/a", value, 5), memos };
}

void describe("key text", () => {
  void it("is the name again, whatever characters it has", () => {
    const names = fc.oneof(fc.string({ unit: "binary" }), fc.constant("\ufeffadmin"));
    fc.assert(fc.property(names, (name) => assert.equal(textOfKey(keyOfText(name)), name)));
  });
});

void describe("stored bytes", () => {
  void it("carry no resourceVersion and give wire JSON with the revision spliced in", () => {
    const value = encodeObject(pod);
    assert.ok(text(value).startsWith('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a",'));
    assert.ok(!text(value).includes("77"));
    assert.equal(
      text(wireJson(value, 12)),
      text(value).replace('"metadata":{', '"metadata":{"resourceVersion":"12",'),
    );
    assert.deepEqual(JSON.parse(text(wireJson(value, 12))), decodeObject(value, 12));
    assert.equal(wireJson(value, 0), value);
    assert.equal(decodeObject(value, 0).metadata?.resourceVersion, undefined);
  });

  void it("of any object parse to that object, with the revision", () => {
    const json = fc
      .jsonValue()
      .filter((v) => typeof v === "object" && v !== null && !Array.isArray(v));
    fc.assert(
      fc.property(json, fc.integer({ min: 1, max: 2 ** 50 }), (spec, revision) => {
        const object = { ...pod, spec } as AnyObject;
        const wire = JSON.parse(text(wireJson(encodeObject(object), revision))) as AnyObject;
        assert.equal(JSON.stringify(wire["spec"]), JSON.stringify(spec));
        assert.equal(wire.metadata?.resourceVersion, String(revision));
        assert.equal(wire.metadata?.name, "a");
      }),
      { numRuns: 200 },
    );
  });

  void it("written by others are read, whatever the order of their fields", () => {
    const rows = [
      '{"kind":"Pod","spec":{"a":1},"metadata":{"name":"a"}}',
      '{"metadata":{},"kind":"Pod"}',
      '{"kind":"Pod"}',
      '{ "kind": "Pod", "metadata": {"name":"a"} }',
    ];
    for (const row of rows) {
      const wire = JSON.parse(text(wireJson(bytes(row), 9))) as AnyObject;
      assert.equal(wire.metadata?.resourceVersion, "9", row);
      assert.equal(wire.kind, "Pod");
    }
    for (const row of ["k8s\0xx", "", '{"kind":']) {
      assert.throws(() => decodeObject(bytes(row), 9), { name: "UnreadableValueError" }, row);
    }
  });
});

void describe("a shared object", () => {
  void it("parses once, is frozen in tests, and encodes once per format", () => {
    const { object } = shared(encodeObject(pod));
    assert.equal(object.object, object.object);
    assert.ok(Object.isFrozen(object.object.metadata));
    assert.equal(object.field("metadata.name"), "a");
    assert.equal(object.field("metadata.namespace"), "ns");
    assert.equal(object.field("spec.x"), "f");
    let made = 0;
    const make = (): Uint8Array => new Uint8Array(++made);
    assert.equal(object.encoded("a", make), object.encoded("a", make));
    for (let format = 0; format < 20; format++) object.encoded(`f${format}`, make);
    assert.equal(made, 21);
    object.encoded("f19", make);
    assert.equal(made, 22, "formats beyond the bound are made again");
  });

  void it("gives up what it derived when the budget runs out, and makes it again", () => {
    const { object, memos } = shared(encodeObject(pod), 2_000);
    const first = object.object;
    for (let i = 0; i < 50; i++) {
      const other = new SharedObject(
        { fieldValue: () => "", memos, freeze: false },
        "b",
        encodeObject(pod),
        i + 1,
      );
      assert.equal(other.object.metadata?.name, "a");
      assert.ok(memos.totalBytes <= 2_000);
    }
    assert.notEqual(object.object, first);
    assert.deepEqual(object.object, first);
  });

  void it("that is used stays longer than one that is not", () => {
    const { object: used, memos } = shared(encodeObject(pod), 4_000);
    const source = { fieldValue: () => "", memos, freeze: false };
    const first = used.object;
    for (let i = 0; i < 50; i++) {
      void new SharedObject(source, "b", encodeObject(pod), i + 1).encoded(
        "x",
        () => new Uint8Array(9),
      );
      assert.equal(used.object, first);
    }
  });

  void it("that nobody used for a round gives up what it derived", () => {
    const { object, memos } = shared(encodeObject(pod));
    const first = object.object;
    assert.equal(object.object, first);
    memos.dropUnused();
    assert.equal(object.object, first);
    memos.dropUnused();
    memos.dropUnused();
    assert.equal(memos.totalBytes, 0);
    assert.notEqual(object.object, first);
  });

  void it("that is released costs the budget nothing, and neither does the memory of it", () => {
    const { object, memos } = shared(encodeObject(pod));
    const source = { fieldValue: () => "", memos, freeze: false };
    for (let i = 0; i < 10_000; i++) {
      const other = new SharedObject(source, "b", encodeObject(pod), i + 1);
      assert.equal(other.labels["app"], 'q"{');
      other.release();
    }
    assert.equal(memos.totalBytes, 0);
    assert.equal(object.object.kind, "Pod");
  });

  void it("has a key in UTF-8 bytes and a name in text", () => {
    assert.equal(textOfKey(keyOfText("rôle/é")), "rôle/é");
    assert.equal(keyOfText("plain"), "plain");
    assert.equal(keyOfText("é"), "\xc3\xa9");
  });
});
