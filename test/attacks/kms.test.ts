/**
 * KMS plugins that lie, hang, answer with megabytes, change their key at each call or are away at the start; values that are
 * forged or moved; a configuration that changes to a plugin that is not there.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openEncryption } from "#cmd/shared/encryption.ts";
import { Parts } from "#cmd/shared/parts.ts";
import { readConfiguration } from "#encryption/configuration.ts";
import { KmsPlugins } from "#encryption/kms-plugins.ts";
import { KmsRecords } from "#encryption/kms-records.ts";
import { Transformers } from "#encryption/transformers.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { SealedValueError } from "#store/at-rest.ts";
import type { Key } from "#store/store.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { type KmsBehaviour, startKmsPlugin } from "../process/kms-plugin.ts";

const directory = temporaryDirectory("kms");
after(() => removeDirectory(directory));
const socket = (name: string): string => join(directory, name);
const records = new KmsRecords(() => 0, "server");
const value = Buffer.from("never-seen");
const at = (name: string): Key => `/registry/core/secrets/default/${name}` as Key;

async function open(name: string, timeoutMs = 300): Promise<KmsPlugins> {
  const settings = { kind: "kms" as const, name: "k", path: socket(name), timeoutMs };
  return KmsPlugins.open({ clock: new NodeClock(), log: silentLog, records }, [settings]);
}

const configuration = (name: string): object => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "EncryptionConfiguration",
  resources: [
    {
      resources: ["secrets"],
      providers: [{ kms: { apiVersion: "v2", name: "k", endpoint: `unix://${socket(name)}` } }],
    },
  ],
});

const transformersOf = (plugins: KmsPlugins): Transformers =>
  new Transformers(readConfiguration(configuration("unused")), plugins.ciphers);

/** Runs with a plugin of its own. */
async function beside(
  name: string,
  behaviour: () => KmsBehaviour,
  run: (plugins: KmsPlugins, transformers: Transformers) => Promise<void> | void,
): Promise<void> {
  const end = await startKmsPlugin(socket(name), behaviour);
  const plugins = await open(name);
  try {
    await run(plugins, transformersOf(plugins));
  } finally {
    plugins.close();
    await end();
  }
}

describe("a plugin", () => {
  const faults: readonly (readonly [string, Partial<KmsBehaviour>, RegExp])[] = [
    ["hangs", { hangs: ["Status"] }, /DeadlineExceeded desc = context deadline exceeded/],
    ["hangs while it encrypts", { hangs: ["Encrypt"] }, /failed to encrypt DEK, error: rpc error/],
    ["is broken", { fails: { Status: 13 } }, /code = Internal desc = Status fails/],
    ["says megabytes", { healthz: "x".repeat(5_000_000) }, /code = ResourceExhausted/],
    [
      "says much",
      { healthz: "x".repeat(3_000_000) },
      /got unexpected healthz status: x{1000}\.\.\.$/,
    ],
    [
      "gives much",
      { ciphertextBytes: 100_000_000 },
      /code = (?:ResourceExhausted|DeadlineExceeded)/,
    ],
    ["gives a long key", { ciphertextBytes: 1_025 }, /is 1025 bytes, which exceeds the max size/],
    ["gives an empty key", { ciphertextBytes: 0 }, /encrypted DEK source is empty/],
    ["has a long name of its key", { keyId: "x".repeat(1_025) }, /keyID is 1025 bytes/],
    ["says another key than it uses", { encryptKeyId: "other" }, /failed to rotate DEK/],
    ["speaks another version", { version: "v1" }, /expected KMSv2 API version v2, got v1/],
  ];
  for (const [what, more, why] of faults) {
    test(`that ${what} is not well in time, and seals nothing before it has a good key`, async () => {
      await beside(
        "faulty",
        () => ({ keyId: "a", ...more }),
        (plugins, transformers) => {
          assert.match(plugins.fault() ?? "", why);
          assert.ok((plugins.fault() ?? "").length < 3_000);
          const seal = (): Uint8Array => transformers.seal(at("a"), at("a"), value);
          // As upstream: who is sick and agrees about its key still has one.
          if (/healthz status|API version/.test(plugins.fault() ?? "")) seal();
          else assert.throws(seal, /Internal error occurred: got unexpected nil transformer/);
        },
      );
    });
  }

  test("that is away at the start is waited for no longer than its timeout, and found later", async () => {
    const plugins = await open("late");
    assert.match(
      plugins.fault() ?? "",
      /code = DeadlineExceeded .* dial unix \S+late: connect: ENOENT/,
    );
    const end = await startKmsPlugin(socket("late"), () => ({ keyId: "a" }));
    assert.equal(await plugins.check(), undefined);
    const transformers = transformersOf(plugins);
    const sealed = transformers.seal(at("a"), at("a"), value);
    await end();
    // Gone again: what is remembered serves.
    assert.match((await plugins.check()) ?? "", /DeadlineExceeded|Unavailable/);
    assert.deepEqual(Buffer.from(transformers.open(at("a"), at("a"), sealed)), value);
    transformers.seal(at("b"), at("b"), value);
    plugins.close();
  });

  test("that lies about a key opens nothing, and shows no plaintext", async () => {
    let lies = false;
    await beside(
      "liar",
      () => ({ keyId: "a", lies }),
      async (plugins, transformers) => {
        const sealed = transformers.seal(at("a"), at("a"), value);
        lies = true;
        const other = await open("liar");
        const reader = transformersOf(other);
        await reader.prepare([{ key: at("a"), value: sealed }]);
        assert.throws(() => reader.open(at("a"), at("a"), sealed), SealedValueError);
        other.close();
        assert.equal(plugins.fault(), undefined);
      },
    );
  });

  test("that gives a key of 100 MB is refused by its length", async () => {
    let plaintextBytes: number | undefined;
    const behaviour = (): KmsBehaviour =>
      plaintextBytes === undefined ? { keyId: "a" } : { keyId: "a", plaintextBytes };
    await beside("heavy", behaviour, async (_plugins, transformers) => {
      const sealed = transformers.seal(at("a"), at("a"), value);
      plaintextBytes = 100_000_000;
      const other = await open("heavy");
      const reader = transformersOf(other);
      await reader.prepare([{ key: at("a"), value: sealed }]);
      assert.throws(
        () => reader.open(at("a"), at("a"), sealed),
        /ResourceExhausted|DeadlineExceeded/,
      );
      other.close();
    });
  });

  test("whose key changes at each call gives each value a key that opens it", async () => {
    let calls = 0;
    // Status and Encrypt of one question agree; the next question has another id.
    await beside(
      "changing",
      () => ({ keyId: `k${Math.floor(calls++ / 2)}` }),
      async (plugins, transformers) => {
        const sealed: Uint8Array[] = [];
        for (let round = 0; round < 20; round++) {
          sealed.push(transformers.seal(at("a"), at("a"), value));
          assert.equal(await plugins.check(), undefined);
        }
        assert.equal(new Set(sealed.map((one) => transformers.sealOf(at("a"), one))).size, 20);
        for (const one of sealed)
          assert.deepEqual(Buffer.from(transformers.open(at("a"), at("a"), one)), value);
      },
    );
  });
});

describe("a stored value", () => {
  test("that was moved, mixed or forged does not open", async () => {
    await beside(
      "forged",
      () => ({ keyId: "a" }),
      async (_plugins, transformers) => {
        const [a, b] = [at("a"), at("b")];
        const sealed = transformers.seal(a, a, value);
        const prefix = "k8s:enc:kms:v2:k:";
        assert.equal(Buffer.from(sealed).subarray(0, prefix.length).toString(), prefix);
        const refuses = async (path: Key, stored: Uint8Array): Promise<void> => {
          await transformers.prepare([{ key: path, value: stored }]);
          assert.throws(() => transformers.open(path, path, stored), SealedValueError);
        };
        await refuses(b, sealed);
        for (const text of [
          prefix,
          `${prefix}\n\u0001x`,
          "k8s:enc:kms:v2:other:x",
          "k8s:enc:kms:v1:k:x",
        ])
          await refuses(a, Buffer.from(text));
        const flipped = Buffer.from(sealed);
        for (const at_ of [prefix.length + 3, prefix.length + 40, sealed.length - 40]) {
          const one = Buffer.from(flipped);
          one[at_] = (one[at_] ?? 0) ^ 1;
          await refuses(a, one);
        }
      },
    );
  });

  test("cannot be opened by another provider's prefix over the same bytes", async () => {
    await beside(
      "renamed",
      () => ({ keyId: "a" }),
      async (_plugins, transformers) => {
        const sealed = Buffer.from(transformers.seal(at("a"), at("a"), value));
        const renamed = Buffer.from(
          sealed.toString("latin1").replace("kms:v2:k:", "aesgcm:v1:k:"),
          "latin1",
        );
        assert.throws(() => transformers.open(at("a"), at("a"), renamed), /no provider of/);
      },
    );
  });
});

describe("a configuration that changes to a plugin", () => {
  test("that is not there changes nothing, and takes it when it is", async () => {
    const file = join(directory, "reload.yaml");
    const identity = {
      ...configuration("new"),
      resources: [{ resources: ["secrets"], providers: [{ identity: {} }] }],
    };
    writeFileSync(file, JSON.stringify(identity));
    const clock = new FakeClock();
    const flags = { encryptionProviderConfig: file, encryptionProviderConfigAutomaticReload: true };
    await using parts = new Parts();
    const encryption = await openEncryption({ clock, log: silentLog }, flags, parts);
    assert.ok(encryption !== undefined);
    const isSealed = (): boolean =>
      encryption.transformers.seal(at("a"), at("a"), value).length > value.length;
    assert.equal(encryption.checks[0]?.check(), undefined);
    const whole = JSON.stringify(configuration("new"));
    for (const text of [whole.slice(0, 100), whole]) {
      writeFileSync(file, text);
      const { failed } = encryption.reloads;
      clock.tick(60_000);
      await passing(clock, () => encryption.reloads.failed > failed);
      assert.equal(isSealed(), false);
      assert.equal(encryption.checks[0]?.check(), undefined);
    }
    const end = await startKmsPlugin(socket("new"), () => ({ keyId: "a" }));
    clock.tick(60_000);
    await passing(clock, () => encryption.reloads.ok > 0);
    assert.equal(isSealed(), true);
    await end();
  });
});

/** The host's sockets and the fake time go on together. */
async function passing(clock: FakeClock, isDone: () => boolean): Promise<void> {
  for (let round = 0; round < 20_000 && !isDone(); round++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (round % 20 === 0) clock.tick(50);
  }
  assert.ok(isDone());
}
