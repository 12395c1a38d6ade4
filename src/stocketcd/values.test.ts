/** Values there and back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeObject, encodeObject } from "#watch/object-bytes.ts";
import { fromStockValue, toStockValue } from "./values.ts";

const metadata = { name: "a", namespace: "b", labels: { x: "y" } };

test("a built-in kind travels in protobuf and comes back as it was", () => {
  const spec = { containers: [{ name: "c", image: "i" }] };
  const bytes = encodeObject({ apiVersion: "v1", kind: "Pod", metadata, spec });
  const stock = toStockValue(bytes);
  assert.equal(Buffer.from(stock).subarray(0, 4).toString("latin1"), "k8s\0");
  const back = decodeObject(fromStockValue(stock), 0);
  assert.deepEqual(back.metadata?.labels, metadata.labels);
  assert.equal((back["spec"] as typeof spec).containers[0]?.image, "i");
});

test("custom resources and definitions stay JSON", () => {
  const groups = ["example.com/v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1"];
  for (const apiVersion of groups) {
    const bytes = encodeObject({ apiVersion, kind: "CustomResourceDefinition", metadata });
    assert.equal(toStockValue(bytes)[0], 0x7b);
    assert.deepEqual(fromStockValue(toStockValue(bytes)), bytes);
  }
});

test("JSON of another writer gets metadata where it is looked for, and loses its resourceVersion", () => {
  const given =
    '{"metadata":{"name":"a","resourceVersion":"5"},"kind":"W","apiVersion":"e.com/v1"}';
  const text = new TextDecoder().decode(fromStockValue(new TextEncoder().encode(given)));
  assert.equal(text, '{"apiVersion":"e.com/v1","kind":"W","metadata":{"name":"a"}}');
});

test("what is neither is refused, not guessed", () => {
  const broken = [[1, 2, 3], [], [0x6b, 0x38, 0x73, 0, 255]];
  for (const bytes of broken) assert.throws(() => fromStockValue(Uint8Array.from(bytes)));
});

test("the data of a ControllerRevision keeps its spelling both ways", () => {
  const data = '{"b":2.0,"a":1e3,"10":1,"a":"\\u0041"}';
  const head = '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"}';
  const ours = new TextEncoder().encode(`${head},"revision":1,"data":${data}}`);
  const stock = toStockValue(ours);
  assert.ok(Buffer.from(stock).includes(data), "upstream's controllers compare these bytes");
  assert.equal(
    new TextDecoder().decode(fromStockValue(stock)),
    `${head},"revision":1,"data":${data}}`,
  );
});
