/** EncryptionConfigurations: what upstream refuses is refused in its words, and no finding shows a key. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfiguration } from "./configuration.ts";

const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration" };
const good = { name: "a", secret: Buffer.alloc(32, 1).toString("base64") };
const gcm = { aesgcm: { keys: [good] } };
const entry = (resources: readonly string[], ...providers: readonly object[]): object => ({
  ...head,
  resources: [{ resources, providers }],
});

test("what upstream's documentation shows is taken", () => {
  const all = entry(
    ["secrets", "configmaps", "pandas.awesome.bears.example"],
    { aescbc: { keys: [good, { ...good, name: "b" }] } },
    { secretbox: { keys: [good] } },
    gcm,
    { identity: {} },
  );
  const [read] = readConfiguration(all).resources;
  assert.deepEqual(
    read?.providers.map(({ kind }) => kind),
    ["aescbc", "secretbox", "aesgcm", "identity"],
  );
});

const refusals: readonly (readonly [string, object, RegExp])[] = [
  ["no resources", { ...head, resources: [] }, /^resources: Required value/],
  ["another kind", { ...head, kind: "X" }, /^no kind "X" is registered/],
  ["an unknown field", { ...head, more: 1 }, /^strict decoding error: unknown field/],
  ["no providers", entry(["secrets"]), /providers: Required value: at least one/],
  ["a star", entry(["*"], gcm), /use '\*\.' to encrypt all the resources from core API group/],
  ["a group's star beside a name", entry(["secrets", "*."], gcm), /overlapping resources/],
  ["a resource twice", entry(["secrets", "secrets"], gcm), /cannot be specified multiple times/],
  ["a resource of all groups", entry(["secrets.*"], gcm), /across groups is not supported/],
  ["capital letters", entry(["Secrets"], gcm), /should not contain capital letters/],
  ["events by their newer group", entry(["*.events.k8s.io"], gcm), /Use 'events' instead/],
  ["no known provider", entry(["secrets"], {}), /does not contain any of the expected providers/],
  ["two in one", entry(["secrets"], { ...gcm, identity: {} }), /more than one provider/],
  [
    "a short key",
    entry(["secrets"], { secretbox: { keys: [{ name: "a", secret: "c2hvcnQ=" }] } }),
    /"REDACTED": secret is not of the expected length, got 5, expected one of \[32\]/,
  ],
  [
    "a key that is no base64",
    entry(["secrets"], { aescbc: { keys: [{ name: "a", secret: "hidden!" }] } }),
    /"REDACTED": secrets must be base64 encoded/,
  ],
  ["a key without name", entry(["secrets"], { aescbc: { keys: [{}] } }), /name is a mandatory/],
  [
    "KMS v1",
    entry(["secrets"], { kms: { name: "k", endpoint: "unix:///k" } }),
    /KMS v1 was switched off/,
  ],
];
for (const [what, document, why] of refusals) {
  test(`${what} is refused`, () => {
    assert.throws(
      () => readConfiguration(document),
      (error: Error) => why.test(error.message) && !/hidden|c2hvcnQ/.test(error.message),
    );
  });
}
