/** Values there and back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { decodeObject, encodeObject } from "#forms/object-bytes.ts";
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

/** As kube-apiserver 1.36.3 writes one, without what does not matter here. */
const older = {
  version: "v1",
  group: "example.com",
  validation: { openAPIV3Schema: { type: "object" } },
  subresources: { status: {} },
  additionalPrinterColumns: [{ name: "Size", type: "integer", JSONPath: ".spec.size" }],
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: { type: "string" } } },
  ],
  conversion: {
    strategy: "Webhook",
    webhookClientConfig: { url: "https://a" },
    conversionReviewVersions: ["v1"],
  },
  preserveUnknownFields: false,
};

const newer = {
  group: "example.com",
  versions: older.versions.map((version) => ({
    schema: older.validation,
    ...version,
    subresources: older.subresources,
    additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  })),
  conversion: {
    strategy: "Webhook",
    webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] },
  },
};

test("a definition in v1beta1 is read as one of v1, with what its versions shared in each", () => {
  const kind = "CustomResourceDefinition";
  const given = { apiVersion: "apiextensions.k8s.io/v1beta1", kind, metadata, spec: older };
  const read = decodeObject(fromStockValue(encodeObject(given)), 0);
  assert.equal(read.apiVersion, "apiextensions.k8s.io/v1");
  assert.deepEqual(read["spec"], newer);
  const { version, group, validation } = older;
  const single = { ...given, spec: { version, group, validation } };
  const { spec } = decodeObject(fromStockValue(encodeObject(single)), 0);
  const only = { name: "v1", served: true, storage: true, schema: validation };
  assert.deepEqual(spec, { group, versions: [only], preserveUnknownFields: true });
});

test("a kind that stock stores in another version is read in the one it has here", () => {
  const group = "admissionregistration.k8s.io";
  const kind = "MutatingAdmissionPolicy";
  const spec = { failurePolicy: "Fail" };
  const stock = toStockValue(
    encodeObject({ apiVersion: `${group}/v1beta1`, kind, metadata: { name: "a" }, spec }),
  );
  assert.equal(Buffer.from(stock).subarray(0, 4).toString("latin1"), "k8s\0");
  const read = decodeObject(fromStockValue(stock), 0);
  assert.deepEqual([read.apiVersion, read["spec"]], [`${group}/v1`, spec]);
});

test("what is neither is refused, not guessed", () => {
  const broken = [[1, 2, 3], [], [0x6b, 0x38, 0x73, 0, 255]];
  for (const bytes of broken) assert.throws(() => fromStockValue(Uint8Array.from(bytes)));
});

test("the node ports of all servers are kept as a stock server keeps them", () => {
  const bytes = fromStockValue(Buffer.from(stockRange, "latin1"));
  const fresh = { apiVersion: "v1", kind: "RangeAllocation", metadata: {}, range: "30000-32767" };
  assert.deepEqual(decodeObject(bytes, 0), { ...fresh, data: "" });
  assert.equal(Buffer.from(toStockValue(bytes)).toString("latin1"), stockRange);
  const taken = encodeObject({ ...fresh, data: "AQE=" } as AnyObject);
  assert.deepEqual(fromStockValue(toStockValue(taken)), taken);
});

/** As kube-apiserver 1.36.3 stored it while no port was taken. */
const stockRange =
  'k8s\0\n\x15\n\x02v1\x12\x0fRangeAllocation\x12!\n\x10\n\0\x12\0\x1a\0"\0*\x002\x008\0B\0' +
  '\x12\x0b30000-32767\x1a\0\x1a\0"\0';
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
