/** Encryption at rest on an etcd that a stock API server writes as well: each reads what the other sealed. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startEtcd } from "#etcd/testing/servers.ts";
import { sendAudited } from "./audited.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { noStock, stockPrograms } from "./peers.ts";
import { type RunningRole, startRole } from "./role-harness.ts";
import { type StockApiServer, startApiServer } from "./stock-apiserver.ts";

const stock = stockPrograms();
const skip = stock === undefined ? noStock : false;
const directory = temporaryDirectory("encryption-stock");
after(() => removeDirectory(directory));

const key = (byte: number, length = 32): string => Buffer.alloc(length, byte).toString("base64");
const keyed = (kind: string, ...keys: readonly (readonly [string, string])[]): object => ({
  [kind]: { keys: keys.map(([name, secret]) => ({ name, secret })) },
});
const kinds = [
  ["secrets", "aesgcm"],
  ["configmaps", "aescbc"],
  ["serviceaccounts", "secretbox"],
] as const;
const configuration = {
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "EncryptionConfiguration",
  resources: [
    { resources: ["secrets"], providers: [keyed("aesgcm", ["a", key(1)])] },
    { resources: ["configmaps"], providers: [keyed("aescbc", ["b", key(2, 16)])] },
    { resources: ["*."], providers: [keyed("secretbox", ["c", key(3)])] },
    { resources: ["*.*"], providers: [{ identity: {} }] },
  ],
};
const bodies = {
  secrets: { kind: "Secret", data: { p: "c2VjcmV0" } },
  configmaps: { kind: "ConfigMap", data: { p: "secret" } },
  serviceaccounts: { kind: "ServiceAccount", automountServiceAccountToken: false },
} as const;

describe("an etcd that is shared with a stock server", { skip, timeout: 240_000 }, () => {
  test("each server reads what the other has encrypted, and nothing of it is in the clear", async () => {
    const file = join(directory, "encryption.yaml");
    writeFileSync(file, JSON.stringify(configuration));
    const tokens = join(directory, "tokens.csv");
    writeFileSync(tokens, 'tok,kubernetes-admin,1,"system:masters"\n');
    const etcd = await startEtcd(stock?.etcd ?? "");
    const flags = [
      `--etcd-servers=${etcd.url}`,
      `--encryption-provider-config=${file}`,
      `--token-auth-file=${tokens}`,
    ];
    let theirs: StockApiServer | undefined;
    let ours: RunningRole | undefined;
    try {
      theirs = await startApiServer(stock?.apiserver ?? "", join(directory, "stock"), flags);
      const own = ["--data-dir", join(directory, "ours"), "--secure-port", "0"];
      ours = await startRole(["apiserver", ...own, ...flags]);
      const urls = { theirs: theirs.url, ours: /https:\/\/\S+/.exec(ours.output())?.[0] ?? "" };
      for (const [resource, provider] of kinds) {
        for (const [writer, reader] of [
          ["theirs", "ours"],
          ["ours", "theirs"],
        ] as const) {
          const path = `/api/v1/namespaces/default/${resource}`;
          const body = { apiVersion: "v1", ...bodies[resource], metadata: { name: writer } };
          const [made, read] = [
            await sendAudited(urls[writer], [{ method: "POST", path, body }]),
            await sendAudited(urls[reader], [{ method: "GET", path: `${path}/${writer}` }]),
          ];
          const [wrote, got] = [made[0]?.text ?? "", read[0]?.text ?? ""];
          assert.deepEqual(JSON.parse(got), JSON.parse(wrote));
          const stored = await storedAt(etcd.url, `/registry/${resource}/default/${writer}`);
          assert.match(stored, new RegExp(`^k8s:enc:${provider}:v1:[abc]:`));
        }
      }
    } finally {
      await ours?.stop();
      await theirs?.stop();
      await etcd.close();
    }
    assert.ok(readFileSync(file, "utf8").includes("aesgcm"));
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
