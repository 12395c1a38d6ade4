/** Envelopes of KMS v2: a value that a stock server stored opens here, at its own path alone; bounds are upstream's. */
import assert from "node:assert/strict";
import { createDecipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  cipherOfSource,
  decodeEnvelope,
  encodeEnvelope,
  seedCipher,
  sourceKey,
  SourceType,
} from "./kms-envelope.ts";
import { cipherOf } from "./providers.ts";

const golden = JSON.parse(
  readFileSync(new URL("testdata/kms-stock.json", import.meta.url), "utf8"),
) as { readonly path: string; readonly stored: string };
const prefix = "k8s:enc:kms:v2:plugin:";

/** What the plugin of test/process/kms-plugin.ts does for the key id `first`. */
function decryptSource(sealed: Uint8Array): Uint8Array {
  const key = createHash("sha256").update("key of first").digest();
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
}

test("what a stock server stored opens at its path, and nowhere else", () => {
  const stored = Buffer.from(golden.stored, "base64");
  assert.equal(stored.subarray(0, prefix.length).toString(), prefix);
  const envelope = decodeEnvelope(stored.subarray(prefix.length));
  assert.equal(envelope.keyId, "first");
  assert.equal(envelope.encryptedDekSourceType, SourceType.seed);
  assert.deepEqual(
    envelope.annotations.map(({ key, value }) => [key, Buffer.from(value).toString()]),
    [["kms.example.com", "1"]],
  );
  const seed = decryptSource(envelope.encryptedDekSource);
  const cipher = cipherOfSource(envelope.encryptedDekSourceType, seed);
  const value = Buffer.from(cipher.open(golden.path, envelope.encryptedData)).toString("latin1");
  assert.match(value, /^k8s\0/);
  assert.match(value, /never-in-the-clear/);
  assert.throws(
    () => cipher.open("/registry/secrets/default/other", envelope.encryptedData),
    /message authentication failed/,
  );
  const again = encodeEnvelope(envelope, envelope.encryptedData);
  assert.deepEqual(Buffer.from(again), stored.subarray(prefix.length));
});

test("each value has a key of its own, and another seed opens none", () => {
  const [one, other] = [seedCipher(new Uint8Array(32)), seedCipher(new Uint8Array(32).fill(1))];
  const value = Buffer.from("secret");
  const [first, second] = [one.seal("/a", value), one.seal("/a", value)];
  assert.notDeepEqual(first.subarray(0, 32), second.subarray(0, 32));
  assert.deepEqual(Buffer.from(one.open("/a", first)), value);
  assert.throws(() => other.open("/a", first), /message authentication failed/);
  assert.throws(() => one.open("/a", first.subarray(0, 31)), /shorter than the required size/);
  assert.throws(() => one.open("/a", first.subarray(0, 40)), /shorter than the required size/);
  // The info decides the key: that of another value gives no plaintext.
  const mixed = Buffer.concat([second.subarray(0, 32), first.subarray(32)]);
  assert.throws(() => one.open("/a", mixed), /message authentication failed/);
});

test("a source that is a key itself opens what such a key sealed", () => {
  const key = new Uint8Array(32).fill(7);
  const sealed = cipherOf("aesgcm", key).seal("/a", Buffer.from("v"));
  const cipher = cipherOfSource(SourceType.aesGcmKey, key);
  assert.deepEqual(Buffer.from(cipher.open("/a", sealed)), Buffer.from("v"));
  assert.throws(() => cipherOfSource(SourceType.aesGcmKey, new Uint8Array(5)), /key size 5/);
  assert.throws(() => cipherOfSource(SourceType.seed, new Uint8Array(31)), /seed length 31/);
});

const source = {
  keyId: "k",
  encryptedDekSource: new Uint8Array(8),
  annotations: [] as readonly { readonly key: string; readonly value: Uint8Array }[],
  encryptedDekSourceType: 1,
};
const data = new Uint8Array(1);
const annotation = (key: string, length = 1) => ({
  annotations: [{ key, value: new Uint8Array(length) }],
});

const refused: readonly (readonly [string, object, RegExp])[] = [
  ["no data", { encryptedData: new Uint8Array(0) }, /encrypted data is empty$/],
  ["an unknown type", { encryptedDekSourceType: 2 }, /unknown encryptedDEKSourceType: 2$/],
  ["no source", { encryptedDekSource: new Uint8Array(0) }, /encrypted DEK source is empty/],
  ["a long source", { encryptedDekSource: new Uint8Array(1025) }, /is 1025 bytes, which exceeds/],
  ["no key id", { keyId: "" }, /failed to validate key id: keyID is empty/],
  ["a long key id", { keyId: "x".repeat(1025) }, /keyID is 1025 bytes/],
  ["an annotation that is no domain", annotation("x"), /at least two segments/],
  ["an annotation with capitals", annotation("A.b"), /RFC 1123/],
  ["long annotations", annotation("a.b", 32 * 1024), /total size of annotations is 32771/],
];
for (const [what, fields, why] of refused) {
  test(`an envelope with ${what} is refused`, () => {
    const { encryptedData = data, ...rest } = fields as { encryptedData?: Uint8Array };
    const bytes = encodeEnvelope({ ...source, ...rest }, encryptedData);
    assert.throws(() => decodeEnvelope(bytes), why);
  });
}

test("bytes that are no envelope are refused", () => {
  for (const bytes of [Uint8Array.of(0x0a, 0xff), Uint8Array.of(0xff), new Uint8Array(0)])
    assert.throws(() => decodeEnvelope(bytes), { name: "SealedValueError" });
});

test("sources that differ in any part have different keys", () => {
  const all = [
    source,
    { ...source, keyId: "l" },
    { ...source, encryptedDekSourceType: 0 },
    { ...source, encryptedDekSource: new Uint8Array(9) },
    { ...source, ...annotation("a.b") },
    { ...source, ...annotation("a.bc") },
    { ...source, ...annotation("a.b", 2) },
  ];
  assert.equal(new Set(all.map(sourceKey)).size, all.length);
});
