/**
 * Programs of `pilothouse compat` started as envtest starts etcd and kube-apiserver: they serve, and a killed one leaves
 * nothing behind. `pilothouse etcd` takes etcd's flags.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeAuthority } from "#auth/pki.ts";
import { freePort } from "#platform/node/http/http.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";

const scratch = temporaryDirectory("compat");
const bin = join(scratch, "bin with space");
const running: ChildProcess[] = [];
after(() => {
  for (const child of running) child.kill("SIGKILL");
  removeDirectory(scratch);
});

const { stdout, code } = pilothouse(["compat", "--dir", bin]);

async function freePorts(count: number): Promise<readonly number[]> {
  const all = Array.from({ length: count }, () => freePort({ host: "127.0.0.1", port: 0 }));
  return (await Promise.all(all)).map(({ port }) => port);
}

/** Resolves when it has printed that it is ready; rejects with what it printed when it ends before. */
function started(name: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(join(bin, name), args, { cwd: scratch });
  running.push(child);
  let printed = "";
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (printed.includes(" ready in ")) resolve(child);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}: ${printed}`)));
  });
}

async function stopped(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}

test("it writes a program by each stock name, and they know their version", () => {
  assert.equal(code, 0, stdout);
  for (const [name, text] of [
    ["kube-apiserver", /^Kubernetes v1\.36\./],
    ["kube-controller-manager", /^Kubernetes v1\.36\./],
    ["kube-scheduler", /^Kubernetes v1\.36\./],
    ["etcd", /^etcd Version: 3\./],
  ] as const) {
    assert.ok(existsSync(join(bin, name)));
    const asked = spawnSync(join(bin, name), ["--version"], { encoding: "utf8", cwd: scratch });
    assert.match(asked.stdout, text, asked.stderr);
  }
});

test("etcd and kube-apiserver start by the flags that envtest gives them", async () => {
  const [client = 0, metrics = 0, secure = 0] = await freePorts(3);
  const etcd = await started("etcd", [
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--data-dir=${join(scratch, "etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${client}`,
    "--listen-peer-urls=http://localhost:0",
    `--listen-metrics-urls=http://127.0.0.1:${metrics}`,
    "--unsafe-no-fsync=true",
  ]);
  const health = await fetch(`http://127.0.0.1:${metrics}/health`);
  assert.deepEqual(await health.json(), { health: "true", reason: "" });

  const files = signingFiles();
  const server = await started("kube-apiserver", [
    "--advertise-address=127.0.0.1",
    "--allow-privileged=true",
    "--authorization-mode=RBAC",
    "--bind-address=127.0.0.1",
    `--cert-dir=${join(scratch, "certs")}`,
    `--client-ca-file=${files.ca}`,
    "--disable-admission-plugins=ServiceAccount",
    `--etcd-servers=http://127.0.0.1:${client}`,
    `--secure-port=${secure}`,
    `--service-account-issuer=https://127.0.0.1:${secure}/`,
    `--service-account-key-file=${files.key}`,
    `--service-account-signing-key-file=${files.key}`,
    "--service-cluster-ip-range=10.0.0.0/24",
  ]);
  assert.ok(existsSync(join(scratch, "certs", "apiserver.crt")));
  await stopped(server);
  await stopped(etcd);
});

test("etcd starts by a file of configuration, and serves HTTP alone where it is told to", async () => {
  const [client = 0, http = 0, shadowed = 0] = await freePorts(3);
  const file = join(scratch, "etcd.yaml");
  const lines = [
    "name: member-1",
    `data-dir: ${join(scratch, "etcd of a file")}`,
    `listen-client-urls: http://127.0.0.1:${client}`,
    `listen-client-http-urls: http://127.0.0.1:${http}`,
    "experimental-watch-progress-notify-interval: 5000000000",
    "log-outputs: [stderr]",
    "socket-options: {reuse-address: true, reuse-port: false}",
  ];
  writeFileSync(file, lines.join("\n"));
  const etcd = await started("etcd", [
    "--config-file",
    file,
    `--listen-client-urls=http://127.0.0.1:${shadowed}`,
  ]);
  const version = await fetch(`http://127.0.0.1:${http}/version`);
  assert.match(await version.text(), /"etcdserver":"3\.6\./);
  assert.equal((await fetch(`http://127.0.0.1:${client}/health`)).status, 200);
  await assert.rejects(fetch(`http://127.0.0.1:${shadowed}/health`));
  await stopped(etcd);
});

test("etcd refuses an entry of its file that is no flag of its", () => {
  const file = join(scratch, "wrong.yaml");
  writeFileSync(file, "no-such-entry: 1\n");
  const asked = spawnSync(join(bin, "etcd"), ["--config-file", file], { encoding: "utf8" });
  assert.equal(asked.status, 1);
  assert.match(asked.stderr, /unknown option '--no-such-entry=1'/);
});

test("a stop waits for balancers: not ready for --shutdown-delay-duration, and still served", async () => {
  const [port = 0] = await freePorts(1);
  const dir = join(scratch, "delayed");
  const server = await started("kube-apiserver", [
    `--data-dir=${dir}`,
    `--secure-port=${port}`,
    "--shutdown-delay-duration=20s",
  ]);
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"; // only this file's process
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`https://127.0.0.1:${port}${path}`)).status;
  assert.equal(await statusOf("/readyz"), 200);
  server.kill("SIGTERM");
  while ((await statusOf("/readyz")) === 200);
  assert.equal(await statusOf("/readyz"), 500);
  assert.equal(await statusOf("/livez"), 200);
  server.kill("SIGKILL");
  await once(server, "exit");
});

function signingFiles(): { readonly ca: string; readonly key: string } {
  const files = { ca: join(scratch, "ca.crt"), key: join(scratch, "sa.key") };
  const now = Date.now();
  const validity = { notBeforeMs: now - 3_600_000, notAfterMs: now + 3_600_000 };
  const serial = new FakeRandom(2).bytes(16);
  writeFileSync(files.ca, makeAuthority("envtest", { validity, serial }).certificate);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  writeFileSync(files.key, privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  return files;
}
