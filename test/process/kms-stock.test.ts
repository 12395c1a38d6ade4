/** A KMS v2 plugin, and an etcd that a stock API server writes as well: each reads what the other has sealed. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, describe, test } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startEtcd } from "#etcd/testing/servers.ts";
import { sendAudited } from "./audited.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { noStock, stockPrograms } from "./peers.ts";
import { type RunningRole, startProgram, startRole } from "./role-harness.ts";
import { type StockApiServer, startApiServer } from "./stock-apiserver.ts";

const stock = stockPrograms();
const skip = stock === undefined ? noStock : false;
const directory = temporaryDirectory("kms-stock");
after(() => removeDirectory(directory));

const plugin = fileURLToPath(new URL("kms-plugin.ts", import.meta.url));
const path = "/api/v1/namespaces/default/secrets";

describe("an etcd that is shared with a stock server", { skip, timeout: 240_000 }, () => {
  test("each server reads what the other has sealed with the plugin's keys", async () => {
    const socket = join(directory, "kms.sock");
    const file = join(directory, "encryption.yaml");
    const kms = { apiVersion: "v2", name: "plugin", endpoint: `unix://${socket}` };
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "EncryptionConfiguration",
        resources: [{ resources: ["secrets"], providers: [{ kms }, { identity: {} }] }],
      }),
    );
    const tokens = join(directory, "tokens.csv");
    writeFileSync(tokens, 'tok,kubernetes-admin,1,"system:masters"\n');
    const behaviour = join(directory, "plugin.json");
    writeFileSync(behaviour, JSON.stringify({ keyId: "first" }));
    const etcd = await startEtcd(stock?.etcd ?? "");
    const flags = [
      `--etcd-servers=${etcd.url}`,
      `--encryption-provider-config=${file}`,
      `--token-auth-file=${tokens}`,
    ];
    let kmsPlugin: RunningRole | undefined;
    let theirs: StockApiServer | undefined;
    let ours: RunningRole | undefined;
    try {
      kmsPlugin = await startProgram(process.execPath, [plugin, socket, behaviour], /listening/);
      theirs = await startApiServer(stock?.apiserver ?? "", join(directory, "stock"), flags);
      const own = ["--data-dir", join(directory, "ours"), "--secure-port", "0"];
      ours = await startRole(["apiserver", ...own, ...flags]);
      const urls = { theirs: theirs.url, ours: /https:\/\/\S+/.exec(ours.output())?.[0] ?? "" };
      for (const [writer, reader] of [
        ["theirs", "ours"],
        ["ours", "theirs"],
      ] as const) {
        const body = {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: writer },
          data: { p: "bmV2ZXItaW4tdGhlLWNsZWFy" },
        };
        const [made] = await sendAudited(urls[writer], [{ method: "POST", path, body }]);
        const [read] = await sendAudited(urls[reader], [
          { method: "GET", path: `${path}/${writer}` },
        ]);
        assert.deepEqual(JSON.parse(read?.text ?? ""), JSON.parse(made?.text ?? ""));
        const stored = await storedAt(etcd.url, `/registry/secrets/default/${writer}`);
        assert.match(stored, /^k8s:enc:kms:v2:plugin:/);
        assert.doesNotMatch(stored, /never-in-the-clear/);
      }
      const [health] = await sendAudited(urls.ours, [
        { method: "GET", path: "/readyz/kms-providers" },
      ]);
      assert.equal(health?.text, "ok");
      const [metrics] = await sendAudited(urls.ours, [{ method: "GET", path: "/metrics" }]);
      assert.match(
        metrics?.text ?? "",
        /kms_operations_latency_seconds_count\{provider_name="plugin",method_name="\/v2.KeyManagementService\/Decrypt",grpc_status_code="OK"\} [1-9]/,
      );
    } catch (error) {
      throw new Error(`${ours?.output()}\n${theirs?.log().slice(-3_000)}`, { cause: error });
    } finally {
      await ours?.stop();
      await theirs?.stop();
      await kmsPlugin?.stop();
      await etcd.close();
    }
  });
});

async function storedAt(url: string, key: string): Promise<string> {
  const client = new EtcdClient(url);
  try {
    const { kvs } = await client.range({ key });
    return Buffer.from(kvs[0]?.value ?? []).toString("latin1");
  } finally {
    client.close();
  }
}
