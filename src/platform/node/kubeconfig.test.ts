/** Kubeconfig files as people write them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inClusterAccess, KubeconfigError, loadKubeconfig } from "./kubeconfig.ts";

const file = `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: c1
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority-data: ${Buffer.from("CA").toString("base64")}
contexts:
- name: dev
  context: { cluster: c1, user: u1, namespace: team }
- name: files
  context: { cluster: c1, user: u2 }
- name: plugin
  context: { cluster: c1, user: u3 }
- name: broken
  context: { cluster: nowhere, user: u1 }
users:
- name: u1
  user: { token: secret }
- name: u2
  user: { client-certificate: cert.pem, client-key: key.pem }
- name: u3
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ${process.execPath}
      args: ["-e", "console.log(JSON.stringify({status:{token:process.env.FROM}}))"]
      env: [{ name: FROM, value: plugged }]
`;

async function withFiles(f: (path: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
  try {
    writeFileSync(join(directory, "config"), file);
    writeFileSync(join(directory, "cert.pem"), "CERT");
    writeFileSync(join(directory, "key.pem"), "KEY");
    await f(join(directory, "config"));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("the current context decides server, trust, token and namespace", async () => {
  await withFiles(async (path) => {
    const access = await loadKubeconfig(path);
    assert.equal(access.server, "https://127.0.0.1:6443");
    assert.equal(access.ca, "CA");
    assert.equal(access.bearerToken?.(), "secret");
    assert.equal(access.namespace, "team");
  });
});

test("files are found beside the kubeconfig", async () => {
  await withFiles(async (path) => {
    const access = await loadKubeconfig(path, "files");
    assert.equal(access.certificate, "CERT");
    assert.equal(access.key, "KEY");
    assert.equal(access.bearerToken, undefined);
  });
});

test("an exec plugin is run for its token", async () => {
  await withFiles(async (path) => {
    const access = await loadKubeconfig(path, "plugin");
    assert.equal(access.bearerToken?.(), "plugged");
  });
});

test("what is missing is named", async () => {
  await withFiles(async (path) => {
    await assert.rejects(loadKubeconfig(path, "broken"), /has no cluster "nowhere"/);
    await assert.rejects(loadKubeconfig(join(path, "..", "absent")), KubeconfigError);
  });
});

test("a Pod's own access is its service account's", async () => {
  const directory = mkdtempSync(join(tmpdir(), "service-account-"));
  try {
    writeFileSync(join(directory, "ca.crt"), "CA");
    writeFileSync(join(directory, "token"), "mine\n");
    writeFileSync(join(directory, "namespace"), "team\n");
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
    const access = inClusterAccess(env, directory);
    assert.equal(access?.server, "https://[fd00::1]:6443");
    assert.equal(access?.bearerToken?.(), "mine");
    assert.equal(access?.namespace, "team");
    assert.equal(inClusterAccess({}, directory), undefined);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
