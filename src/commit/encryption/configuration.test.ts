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

const plugin = { apiVersion: "v2", name: "k", endpoint: "unix:///run/k.sock" };
const kms = (fields: object): object => entry(["secrets"], { kms: { ...plugin, ...fields } });

test("a KMS has upstream's timeout, and a socket that may be abstract", () => {
  const read = (fields: object): unknown =>
    readConfiguration(kms(fields)).resources[0]?.providers[0];
  const path = "/run/k.sock";
  assert.deepEqual(read({}), { kind: "kms", name: "k", path, timeoutMs: 3_000 });
  assert.deepEqual(read({ endpoint: "unix:///@k", timeout: "1.5s" }), {
    kind: "kms",
    name: "k",
    path: "\0k",
    timeoutMs: 1_500,
  });
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
  ["KMS v1", kms({ apiVersion: "v1" }), /apiVersion: Invalid value: "v1": KMSv1 is deprecated/],
  ["a KMS without version", kms({ apiVersion: undefined }), /KMSv1 is deprecated/],
  ["a KMS of another version", kms({ apiVersion: "v3" }), /only v1 and v2 are supported/],
  ["a KMS without name", kms({ name: "" }), /name is a mandatory field for a provider/],
  [
    "a KMS with a colon",
    kms({ name: "a:b" }),
    /invalid KMS provider name a:b, must not contain ':'/,
  ],
  ["a KMS with a cache size", kms({ cachesize: 5 }), /cachesize is not supported in v2/],
  ["a KMS without endpoint", kms({ endpoint: "" }), /endpoint is a mandatory field for a kms/],
  ["a KMS over TCP", kms({ endpoint: "tcp://h:1" }), /unsupported scheme "tcp" for KMS provider/],
  ["a KMS without time", kms({ timeout: "0s" }), /timeout should be a positive value/],
  ["a KMS with a wrong time", kms({ timeout: "soon" }), /time: invalid duration "soon"/],
  [
    "a name of two KMS",
    entry(["secrets"], ...[1, 2].map(() => ({ kms: plugin }))),
    /resources\[0\]\.providers\[1\]\.kms\.name.*duplicate KMS provider name k, names must be unique/,
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
