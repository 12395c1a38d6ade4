/** Encryption at rest: nothing that an operator wants sealed is in a file of the store, and a half written file changes nothing. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openEncryption } from "#cmd/shared/encryption.ts";
import { Parts } from "#cmd/shared/parts.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import type { Key } from "#store/store.ts";
import { pilothouse, removeDirectory, startUp, temporaryDirectory } from "../process/harness.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { keptLog } from "./promised-plane.ts";

const directory = temporaryDirectory("encryption");
after(() => removeDirectory(directory));

const configurationOf = (name: string): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: ["secrets"],
        providers: [
          { aesgcm: { keys: [{ name, secret: Buffer.alloc(32, name).toString("base64") }] } },
        ],
      },
    ],
  });

describe("the files of a store", () => {
  test("hold no value of a Secret, before and after a restart", async () => {
    const file = join(directory, "encryption.yaml");
    writeFileSync(file, configurationOf("a"));
    const data = join(directory, "data");
    const args = ["--data-dir", data, "--port", "0", "--nodes", "0"];
    const flag = ["--encryption-provider-config", file];
    const path = "/api/v1/namespaces/default/secrets";
    const secret = { apiVersion: "v1", kind: "Secret", stringData: { p: "never-in-a-file" } };
    const encoded = Buffer.from("never-in-a-file").toString("base64");
    const first = await startUp([...args, ...flag]);
    const admin = new KubeHttp(credentialsOf(first.kubeconfig));
    const metadata = { name: "s" };
    assert.equal((await admin.request("POST", path, { ...secret, metadata })).status, 201);
    admin.close();
    assert.equal(await first.stop(), 0, first.output());
    const second = await startUp([...args, ...flag]);
    const again = new KubeHttp(credentialsOf(second.kubeconfig));
    const read = await again.request("GET", `${path}/s`);
    assert.match(JSON.stringify(read.body), new RegExp(encoded));
    again.close();
    assert.equal(await second.stop(), 0, second.output());
    const bytes = filesBelow(join(data, "store")).map((one) => readFileSync(one, "latin1"));
    assert.ok(bytes.some((text) => text.includes("k8s:enc:aesgcm:v1:a:")));
    for (const text of bytes) assert.ok(!text.includes(encoded));
  });

  test("are not opened with a configuration that is wrong", () => {
    const file = join(directory, "wrong.yaml");
    writeFileSync(file, '{"apiVersion":"apiserver.config.k8s.io/v1","kind":"Encr');
    const flag = ["--encryption-provider-config", file];
    const { code, stderr } = pilothouse(["up", "--data-dir", join(directory, "none"), ...flag]);
    assert.equal(code, 1);
    assert.match(stderr, /^pilothouse: --encryption-provider-config .*\n$/);
  });
});

function filesBelow(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name));
}

describe("a configuration that is read again", () => {
  test("changes nothing while it is half written or wrong, and all at once when it is whole", async () => {
    const file = join(directory, "reload.yaml");
    writeFileSync(file, configurationOf("a"));
    const clock = new FakeClock();
    const { log, lines } = keptLog();
    const flags = {
      encryptionProviderConfig: file,
      encryptionProviderConfigAutomaticReload: true,
    };
    await using parts = new Parts();
    const encryption = await openEncryption({ clock, log }, flags, parts);
    assert.ok(encryption !== undefined);
    const key = "/registry/core/secrets/default/s" as Key;
    const sealedBy = (): string => {
      const sealed = encryption.transformers.seal(key, key, new Uint8Array(3));
      return Buffer.from(sealed).toString("latin1").slice(0, 20);
    };
    const whole = configurationOf("b");
    for (const text of [whole.slice(0, 60), whole.slice(0, -40), "", "{}"]) {
      writeFileSync(file, text);
      clock.tick(60_000);
      assert.equal(sealedBy(), "k8s:enc:aesgcm:v1:a:");
    }
    writeFileSync(file, whole);
    clock.tick(60_000);
    assert.equal(sealedBy(), "k8s:enc:aesgcm:v1:b:");
    assert.deepEqual(encryption.reloads, { ok: 1, failed: 4 });
    const text = JSON.stringify(lines);
    assert.ok(!text.includes(Buffer.alloc(32, "b").toString("base64").slice(0, 20)));
  });
});
