/** A KMS plugin over time: rotation, expiry, faults, and keys that are asked for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { KeyAwayError, SealedValueError } from "#store/at-rest.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import type { DekSource } from "./kms-messages.ts";
import { KmsProvider } from "./kms-provider.ts";
import { KmsRecords } from "./kms-records.ts";

const minuteMs = 60_000;
const value = Buffer.from("secret");

/** Encrypts nothing: what it gives out is what it got, with its key id. */
class FakePlugin {
  keyId = "one";
  encryptKeyId: string | undefined;
  healthz = "ok";
  version = "v2";
  fails: GrpcError | undefined;
  refuses: GrpcError | undefined;
  readonly asked: string[] = [];

  status = () => {
    this.asked.push("status");
    const { keyId, healthz, version } = this;
    return this.#answer({ keyId, healthz, version });
  };

  encrypt = (_uid: string, plaintext: Uint8Array) => {
    this.asked.push("encrypt");
    const keyId = this.encryptKeyId ?? this.keyId;
    return this.#answer({ ciphertext: plaintext, keyId, annotations: [] });
  };

  decrypt = (_uid: string, { encryptedDekSource }: DekSource) => {
    this.asked.push("decrypt");
    if (this.refuses !== undefined) return Promise.reject(this.refuses);
    return this.#answer({ plaintext: encryptedDekSource });
  };

  close = () => undefined;

  #answer<T>(answer: T): Promise<T> {
    return this.fails === undefined ? Promise.resolve(answer) : Promise.reject(this.fails);
  }
}

function start() {
  const clock = new FakeClock();
  const client = new FakePlugin();
  const records = new KmsRecords(() => clock.nowMs(), "server");
  const make = () => new KmsProvider({ clock, log: silentLog, client, records }, "plugin");
  return { clock, client, records, make };
}

const away = new GrpcError(Code.unavailable, "gone");

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

test("values are sealed by one seed until the plugin has another key id", async () => {
  const { clock, client, make } = start();
  const provider = make();
  await provider.start();
  const first = provider.seal("/a", value);
  assert.equal(provider.keyOf(first), "1:one");
  for (let minute = 0; minute < 10; minute++) {
    clock.tick(minuteMs);
    await settle();
    provider.seal("/a", value);
  }
  assert.equal(client.asked.filter((what) => what === "encrypt").length, 1);
  client.keyId = "two";
  clock.tick(minuteMs);
  await settle();
  assert.equal(provider.currentKey(), "1:two");
  assert.equal(provider.keyOf(provider.seal("/a", value)), "1:two");
  assert.deepEqual(Buffer.from(provider.open("/a", first)), value);
  provider.close();
});

test("without the plugin values open for ever, and are sealed for three minutes", async () => {
  const { clock, client, make } = start();
  const provider = make();
  await provider.start();
  const sealed = provider.seal("/a", value);
  client.fails = away;
  for (let passedMs = 0; passedMs < 3 * minuteMs; passedMs += 10_000) {
    clock.tick(10_000);
    await settle();
    provider.seal("/a", value);
  }
  clock.tick(10_000);
  await settle();
  assert.throws(
    () => provider.seal("/a", value),
    /Internal error occurred: encryptedDEKSource with keyID hash \\?"sha256:[0-9a-f]{64}\\?" expired at \S+Z \(current time is \S+Z\)/,
  );
  assert.match(
    provider.fault() ?? "",
    /^failed to perform status section of the healthz check for KMS Provider plugin, error: rpc error: code = Unavailable desc = gone$/,
  );
  clock.tick(24 * 60 * minuteMs);
  await settle();
  assert.deepEqual(Buffer.from(provider.open("/a", sealed)), value);
  // The same key id again: the old seed is good again.
  client.fails = undefined;
  await provider.check();
  assert.equal(provider.keyOf(provider.seal("/a", value)), provider.keyOf(sealed));
  provider.close();
});

test("a plugin that was away at the start is found ten seconds after it came", async () => {
  const { clock, client, make } = start();
  client.fails = away;
  const provider = make();
  await provider.start();
  assert.throws(() => provider.seal("/a", value), /got unexpected nil transformer/);
  client.fails = undefined;
  clock.tick(10_000);
  await settle();
  assert.equal(provider.fault(), undefined);
  provider.seal("/a", value);
  provider.close();
});

test("a plugin whose calls disagree about the key id is not well, and the old seed expires", async () => {
  const { clock, client, make } = start();
  const provider = make();
  await provider.start();
  client.keyId = "two";
  client.encryptKeyId = "three";
  clock.tick(minuteMs);
  await settle();
  assert.match(provider.fault() ?? "", /not healthy, error: failed to rotate DEK uid=/);
  assert.equal(provider.keyOf(provider.seal("/a", value)), "1:one");
  for (let passed = 0; passed < 20; passed++) {
    clock.tick(10_000);
    await settle();
  }
  assert.throws(() => provider.seal("/a", value), /expired at/);
  provider.close();
});

test("what a plugin says of itself is told in upstream's words", async () => {
  const faults: readonly (readonly [Partial<FakePlugin>, RegExp])[] = [
    [{ healthz: "sick" }, /got unexpected healthz status: sick$/],
    [{ healthz: "x".repeat(5_000) }, /x\.\.\.$/],
    [{ version: "v1" }, /expected KMSv2 API version v2, got v1$/],
    [{ keyId: "" }, /got invalid KMSv2 KeyID hash "": keyID is empty$/],
    [
      { healthz: "sick", version: "v9" },
      /error: \[got unexpected healthz .*, expected KMSv2 .*\]$/,
    ],
  ];
  for (const [fields, why] of faults) {
    const { client, make } = start();
    Object.assign(client, fields);
    const provider = make();
    await provider.start();
    assert.match(provider.fault() ?? "", why);
    assert.ok((provider.fault() ?? "").length < 2_000);
    provider.close();
  }
  const { client, make } = start();
  const provider = make();
  await provider.start();
  client.version = "v2beta1";
  assert.match((await provider.check()) ?? "", /version should not change .* v2, got v2beta1$/);
  provider.close();
});

test("a key that is not at hand is asked for, once for many values", async () => {
  const { client, make } = start();
  const [writer, reader] = [make(), make()];
  await writer.start();
  await reader.start();
  const sealed = [writer.seal("/a", value), writer.seal("/b", value)];
  assert.throws(() => reader.open("/a", sealed[0] as Uint8Array), KeyAwayError);
  await reader.prepare(sealed);
  assert.equal(reader.prepare(sealed), undefined);
  assert.deepEqual(Buffer.from(reader.open("/b", sealed[1] as Uint8Array)), value);
  assert.equal(client.asked.filter((what) => what === "decrypt").length, 1);
  writer.close();
  reader.close();
});

test("a plugin that is away is waited for, and one that refuses is not", async () => {
  const { clock, client, make } = start();
  const [writer, reader] = [make(), make()];
  await writer.start();
  const sealed = writer.seal("/a", value);
  client.fails = away;
  let isOver = false;
  const waiting = reader.prepare([sealed])?.then(() => (isOver = true));
  for (let second = 0; second < 100; second++) {
    await settle();
    clock.tick(1_000);
  }
  assert.equal(isOver, false);
  client.fails = undefined;
  for (let second = 0; second < 3; second++) {
    await settle();
    clock.tick(1_000);
  }
  await waiting;
  assert.deepEqual(Buffer.from(reader.open("/a", sealed)), value);

  const other = make();
  client.refuses = new GrpcError(Code.unknown, "forged");
  await other.prepare([sealed]);
  assert.throws(
    () => other.open("/a", sealed),
    (error) =>
      error instanceof SealedValueError &&
      !(error instanceof KeyAwayError) &&
      error.message === "failed to decrypt DEK, error: rpc error: code = Unknown desc = forged",
  );
  // Not asked again for ten seconds.
  const { length } = client.asked;
  await other.prepare([sealed]);
  assert.equal(client.asked.length, length);
  clock.tick(10_000);
  client.refuses = undefined;
  await other.prepare([sealed]);
  assert.deepEqual(Buffer.from(other.open("/a", sealed)), value);
});

test("a plugin that is well but never answers about one key holds nobody for ever", async () => {
  const { clock, client, make } = start();
  const [writer, reader] = [make(), make()];
  await writer.start();
  const sealed = writer.seal("/a", value);
  client.refuses = new GrpcError(Code.deadlineExceeded, "context deadline exceeded");
  const waiting = reader.prepare([sealed]);
  for (let second = 0; second < 5; second++) {
    await settle();
    clock.tick(1_000);
  }
  await waiting;
  assert.throws(
    () => reader.open("/a", sealed),
    (error) => error instanceof SealedValueError && !(error instanceof KeyAwayError),
  );
});

test("closing ends every wait", async () => {
  const { client, make } = start();
  const [writer, reader] = [make(), make()];
  await writer.start();
  const sealed = writer.seal("/a", value);
  client.fails = away;
  const waiting = reader.prepare([sealed]);
  await settle();
  reader.close();
  await waiting;
});
