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
      args: ["-e", "console.log(JSON.stringify({apiVersion:JSON.parse(process.env.KUBERNETES_EXEC_INFO).apiVersion,status:{token:process.env.FROM}}))"]
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

const execs = "client.authentication.k8s.io/v1";

async function withUser(user: object, f: (path: string) => Promise<void>): Promise<void> {
  await withFiles(async (path) => {
    const cluster = { server: "https://127.0.0.1:6443", "tls-server-name": "api" };
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user }],
    };
    writeFileSync(path, JSON.stringify(config));
    await f(path);
  });
}

function plugin(script: string, more: object = {}): object {
  const exec = { apiVersion: execs, command: process.execPath, args: ["-e", script] };
  return { exec: { ...exec, ...more } };
}

/** A plugin that answers `status`. */
function answering(status: object, apiVersion = execs): object {
  return plugin(`console.log(${JSON.stringify(JSON.stringify({ apiVersion, status }))})`);
}

test("an exec plugin is told the cluster when it asks, and finds its input closed", async () => {
  const script = `process.stdin.resume().on("end", () => {
    const { apiVersion, spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    const token = spec.cluster.server + " " + spec.cluster["tls-server-name"];
    console.log(JSON.stringify({ apiVersion, status: { token } }));
  })`;
  await withUser(plugin(script, { provideClusterInfo: true }), async (path) => {
    const access = await loadKubeconfig(path);
    assert.equal(access.bearerToken?.(), "https://127.0.0.1:6443 api");
  });
});

test("an exec plugin's arguments never meet a shell", async () => {
  const script =
    "console.log(JSON.stringify({apiVersion:process.argv[1],status:{token:process.argv[2]}}))";
  const args = ["-e", script, execs, "$(echo breached); `id`"];
  await withUser(plugin(script, { args }), async (path) => {
    assert.equal((await loadKubeconfig(path)).bearerToken?.(), "$(echo breached); `id`");
  });
});

const refused: readonly (readonly [string, object, RegExp])[] = [
  ["impersonation", { token: "t", as: "somebody" }, /impersonation \(as\) is not supported/],
  ["groups of impersonation", { token: "t", "as-groups": ["g"] }, /impersonation \(as-groups\)/],
  [
    "an old exec version",
    plugin("", { apiVersion: "client.authentication.k8s.io/v1alpha1" }),
    /v1alpha1" is not supported/,
  ],
  ["a plugin that needs a terminal", plugin("", { interactiveMode: "Always" }), /needs a terminal/],
  [
    "a plugin that is not there",
    plugin("", { command: "no-such-plugin" }),
    /no-such-plugin failed/,
  ],
  ["a plugin that fails at once", plugin("process.exit(1)"), /failed/],
  [
    "an answer of another version",
    answering({ token: "t" }, "client.authentication.k8s.io/v1beta1"),
    /it answered apiVersion/,
  ],
  ["an answer without credentials", answering({}), /neither a token nor a certificate/],
  [
    "a certificate without its key",
    answering({ clientCertificateData: "c" }),
    /only one of certificate and key/,
  ],
];

for (const [what, user, message] of refused) {
  test(`${what} is refused`, async () => {
    await withUser(user, async (path) => {
      await assert.rejects(loadKubeconfig(path), message);
    });
  });
}

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
