/** A relay as docs/relay-rbac.yaml sets one up: by a URL, with a service account's token, and no right more. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { removeDirectory, root, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { fetchWith } from "./fetch-with.ts";
import { credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { startRelay } from "./relay-harness.ts";

const paths: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  ServiceAccount: "/api/v1/namespaces/pilothouse/serviceaccounts",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
};
const accounts = paths["ServiceAccount"];

test("the documented rights are enough for reads, watches and what passes through", async () => {
  const directory = temporaryDirectory("relay-rbac");
  const dataDir = join(directory, "data");
  const plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "1"]);
  try {
    await checkRelay(plane, directory, join(dataDir, "pki"));
  } finally {
    await plane.kill();
    removeDirectory(directory);
  }
});

async function checkRelay(plane: Running, directory: string, pki: string): Promise<void> {
  const admin = new KubeHttp(credentialsOf(plane.kubeconfig));
  await apply(admin);
  const token = join(directory, "token");
  writeFileSync(token, await tokenOf(admin), { mode: 0o600 });
  const upstream = ["--upstream", credentialsOf(plane.kubeconfig).server];
  const files = ["--upstream-ca", join(pki, "ca.crt"), "--upstream-token-file", token];
  const relay = await startRelay({
    kubeconfig: plane.kubeconfig,
    access: [...upstream, ...files],
    directory,
    name: "rbac",
    pki,
    args: [],
  });
  const relayed = new KubeHttp(credentialsOf(relay.kubeconfig));
  try {
    // As the plane's admin, with extra and groups: mirrored, passed through, written.
    await answers(relayed, "GET", "/api/v1/nodes", 200);
    await answers(relayed, "GET", "/apis/apps/v1/deployments", 200);
    const config = { metadata: { name: "through" }, data: { a: "1" } };
    await answers(relayed, "POST", "/api/v1/namespaces/default/configmaps", 201, config);
    await answers(relayed, "GET", "/api/v1/namespaces/default/configmaps/through", 200);
    // The relay's own rights are nobody else's.
    const own = await fetchWith(relay.url, "/api/v1/secrets", readFileSync(token, "utf8"));
    assert.equal(own.status, 403);
  } finally {
    relayed.close();
    admin.close();
    await relay.kill();
  }
}

async function apply(admin: KubeHttp): Promise<void> {
  const text = readFileSync(join(root, "docs", "relay-rbac.yaml"), "utf8");
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as { kind: string };
    await answers(admin, "POST", paths[object.kind] ?? object.kind, 201, object);
  }
}

async function tokenOf(admin: KubeHttp): Promise<string> {
  const spec = { spec: { expirationSeconds: 3600 } };
  const made = await answers(admin, "POST", `${accounts}/relay/token`, 201, spec);
  return String(made["status"]?.["token"]);
}

async function answers(
  http: KubeHttp,
  method: string,
  path: string,
  status: number,
  sent?: unknown,
): Promise<Json> {
  const answer = await http.request(method, path, sent);
  assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
