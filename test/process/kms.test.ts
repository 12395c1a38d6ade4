/** A KMS v2 plugin and a store of the server's own: restarts, and a plugin that is away when the server starts. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { removeDirectory, startUp, temporaryDirectory } from "./harness.ts";
import { startKmsPlugin } from "./kms-plugin.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { startRole } from "./role-harness.ts";

const directory = temporaryDirectory("kms-up");
after(() => removeDirectory(directory));

const socket = join(directory, "kms.sock");
const file = join(directory, "encryption.yaml");
const kms = { apiVersion: "v2", name: "k", endpoint: `unix://${socket}`, timeout: "500ms" };
const path = "/api/v1/namespaces/default/secrets";
const args = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"];

async function within(run: (admin: KubeHttp) => Promise<void>): Promise<void> {
  const server = await startUp([...args, "--encryption-provider-config", file]);
  const admin = new KubeHttp(credentialsOf(server.kubeconfig));
  await run(admin);
  admin.close();
  assert.equal(await server.stop(), 0, server.output());
}

const secret = (name: string): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  stringData: { p: "never-in-a-file" },
});

describe("a plane whose Secrets a KMS plugin protects", { timeout: 180_000 }, () => {
  test("reads them after a restart, waits for the plugin with the start, and can be stopped meanwhile", async () => {
    const providers = [{ kms }, { identity: {} }];
    const resources = [{ resources: ["secrets"], providers }];
    const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration" };
    writeFileSync(file, JSON.stringify({ ...head, resources }));
    let keyId = "one";
    const end = await startKmsPlugin(socket, () => ({ keyId }));
    await within(async (admin) => {
      assert.equal((await admin.request("POST", path, secret("a"))).status, 201);
    });
    keyId = "two";
    await within(async (admin) => {
      assert.equal((await admin.request("GET", `${path}/a`)).status, 200);
      const { body: object } = await admin.request("GET", `${path}/a`);
      const { resourceVersion: before } = object["metadata"] as unknown as Record<string, string>;
      // Nothing of it changes but the key: it is written anew, once.
      const again = await admin.request("PUT", `${path}/a`, object);
      const now = (again.body["metadata"] as unknown as Record<string, string>)["resourceVersion"];
      assert.notEqual(now, before);
      const third = await admin.request("PUT", `${path}/a`, again.body);
      const { resourceVersion: last } = third.body["metadata"] as unknown as Record<string, string>;
      assert.equal(last, now);
    });
    await end();
    const waiting = await startRole(
      ["up", ...args, "--encryption-provider-config", file],
      /stored values wait for the KMS plugin/,
    );
    assert.ok((await waiting.stop()) < 128, waiting.output());
    const late = startUp([...args, "--encryption-provider-config", file]);
    const endAgain = await startKmsPlugin(socket, () => ({ keyId }));
    const server = await late;
    const admin = new KubeHttp(credentialsOf(server.kubeconfig));
    assert.equal((await admin.request("GET", `${path}/a`)).status, 200);
    await endAgain();
    const health = await admin.request("GET", "/livez");
    assert.equal(health.status, 200);
    admin.close();
    await server.stop();
  });
});
