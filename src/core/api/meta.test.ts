/** Metadata on its way into the store: what is filled, kept and refused. */
import { test } from "node:test";
import assert from "node:assert/strict";
import type { AnyObject, ObjectMeta } from "./object.ts";
import {
  dedupOwnerReferences,
  prepareMetadataForCreate,
  prepareMetadataForUpdate,
  resetMetadataForStatus,
  validateLabelSelector,
  validateMetadata,
  validateMetadataUpdate,
} from "./meta.ts";
import { dnsSubdomainName } from "./names.ts";

const random = { below: () => 0 };
const facts = {
  namespace: "default",
  uid: "u-1",
  creationTimestamp: "2026-01-01T00:00:00Z",
  random,
};

function object(metadata: object): AnyObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: metadata as ObjectMeta };
}

test("A create is stamped with what only the server knows", () => {
  const wanted = object({
    generateName: "web-",
    namespace: "",
    uid: "mine",
    creationTimestamp: "1999-01-01T00:00:00Z",
    deletionTimestamp: "1999-01-01T00:00:00Z",
    deletionGracePeriodSeconds: 3,
    selfLink: "/x",
  });
  assert.deepEqual(prepareMetadataForCreate(wanted, facts).metadata, {
    generateName: "web-",
    name: "web-bbbbb",
    namespace: "default",
    uid: "u-1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  });
});

test("A given name wins over a generated one", () => {
  const made = prepareMetadataForCreate(object({ name: "a", generateName: "b-" }), facts);
  assert.equal(made.metadata?.name, "a");
});

const stored: ObjectMeta = {
  name: "a",
  namespace: "default",
  uid: "u-1",
  resourceVersion: "7",
  generation: 2,
  creationTimestamp: "2026-01-01T00:00:00Z",
};

test("An update that leaves out what cannot change is filled up", () => {
  const given = object({ name: "a", namespace: "default", resourceVersion: "7" });
  const next = prepareMetadataForUpdate(given, object(stored));
  assert.deepEqual(validateMetadataUpdate(next.metadata ?? {}, stored), []);
  assert.equal(next.metadata?.generation, 2);
});

const updates: readonly (readonly [string, object, readonly string[]])[] = [
  ["the uid", { uid: "u-2" }, ['metadata.uid: Invalid value: "u-2": field is immutable']],
  ["the name", { name: "b" }, ['metadata.name: Invalid value: "b": field is immutable']],
  [
    "the version",
    { resourceVersion: "" },
    ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
  ],
  [
    "the deletion",
    { deletionTimestamp: "2026-01-02T00:00:00Z" },
    ['metadata.deletionTimestamp: Invalid value: "2026-01-02T00:00:00Z": field is immutable'],
  ],
];

for (const [name, change, expected] of updates) {
  test(`An update may not change ${name}`, () => {
    const found = validateMetadataUpdate({ ...stored, ...change }, stored);
    assert.deepEqual(
      found.map((error) => `${error.field}: ${error.message}`),
      expected,
    );
  });
}

test("What is being deleted gets no new finalizers", () => {
  const old: ObjectMeta = {
    ...stored,
    deletionTimestamp: "2026-01-02T00:00:00Z",
    finalizers: ["a.b/c"],
  };
  const next: ObjectMeta = { ...old, finalizers: ["a.b/c", "a.b/d"] };
  assert.deepEqual(
    validateMetadataUpdate(next, old).map((error) => error.message),
    [
      'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.b/d"}',
    ],
  );
});

const creates: readonly (readonly [string, object, readonly string[]])[] = [
  ["nothing wrong", { name: "a", namespace: "default" }, []],
  [
    "no name",
    { namespace: "default" },
    ["metadata.name: Required value: name or generateName is required"],
  ],
  [
    "a label with a blank",
    { name: "a", namespace: "default", labels: { x: "a b" } },
    [
      "metadata.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  ],
  [
    "annotations beyond all measure",
    { name: "a", namespace: "default", annotations: { x: "y".repeat(262_144) } },
    ["metadata.annotations: Too long: may not be more than 262144 bytes"],
  ],
  [
    "a finalizer of nobody",
    { name: "a", namespace: "default", finalizers: ["mine"] },
    [
      'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ],
  ],
  [
    "an owner without a uid",
    {
      name: "a",
      namespace: "default",
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "" }],
    },
    ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
  ],
];

for (const [name, metadata, expected] of creates) {
  test(`Metadata with ${name} is answered as upstream does`, () => {
    const rules = { namespaced: true, nameValidator: dnsSubdomainName };
    const found = validateMetadata(metadata as ObjectMeta, rules);
    assert.deepEqual(
      found.map((error) => `${error.field}: ${error.message}`),
      expected,
    );
  });
}

test("One owner controls, not two", () => {
  const owner = { apiVersion: "v1", kind: "Pod", uid: "u", controller: true };
  const metadata: ObjectMeta = {
    name: "a",
    ownerReferences: [
      { ...owner, name: "p" },
      { ...owner, name: "q" },
    ],
  };
  const rules = { namespaced: false, nameValidator: dnsSubdomainName };
  const [error] = validateMetadata(metadata, rules);
  assert.match(
    error?.message ?? "",
    /Only one reference can have Controller set to true\. Found "true" in references for Pod\/p and Pod\/q$/,
  );
});

test("An owner named twice counts once, with a warning", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  const { object: kept, warning } = dedupOwnerReferences(
    object({ name: "a", ownerReferences: [owner, { ...owner }, owner] }),
    "as sent",
  );
  assert.equal(kept.metadata?.ownerReferences?.length, 1);
  assert.match(warning ?? "", /duplicate entries; API .* duplicate UID\(s\) observed: u, u$/);
});

test("What admission named twice has a warning of its own", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  const { warning } = dedupOwnerReferences(
    object({ name: "a", ownerReferences: [owner, owner] }),
    "after admission",
  );
  assert.match(warning ?? "", /duplicate entries after mutating admission happens; API /);
});

test("A status write leaves labels and finalizers alone", () => {
  const old = object({ ...stored, labels: { a: "b" }, finalizers: ["a.b/c"] });
  const next = object({ ...stored, labels: { a: "c" }, annotations: { x: "y" } });
  assert.deepEqual(resetMetadataForStatus(next, old).metadata, old.metadata);
});

test("A selector with an operator nobody knows is refused", () => {
  const selector = { matchExpressions: [{ key: "a", operator: "Like", values: ["b"] }] };
  assert.deepEqual(
    validateLabelSelector(selector, "spec.selector").map((e) => `${e.field}: ${e.message}`),
    [
      'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
    ],
  );
});
