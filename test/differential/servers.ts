/**
 * The two servers compared: ours in this process without its loops, and a stock kube-apiserver with an
 * etcd, both started anew with empty stores. Stock has no controllers either: what is compared is the API.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePki } from "#auth/pki-files.ts";
import * as limits from "#cmd/limits.ts";
import { startPlane } from "#cmd/plane.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { Target } from "./run.ts";

export interface Server extends Target {
  stop(): Promise<void>;
}

const user = "kubernetes-admin";

export async function startOurs(port = 0): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-differential-"));
  const level = (process.env["PILOTHOUSE_LOG"] ?? "error") as "error";
  const log = nodeLog({ level, destination: 2 });
  const host = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk(), log };
  const { serviceAddress } = limits;
  const pki = ensurePki(directory, { ...host, extraHosts: ["127.0.0.1"], serviceAddress });
  const plane = await startPlane(host, { pki, host: "127.0.0.1", port, nodes: 0, loops: "none" });
  const agent = new https.Agent({
    keepAlive: true,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
  });
  return {
    url: plane.url,
    agent,
    headers: {},
    async stop() {
      agent.destroy();
      await plane.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Where the stock programs are: PILOTHOUSE_STOCK names a folder with kube-apiserver and etcd. */
export function stockFolder(): string | undefined {
  return process.env["PILOTHOUSE_STOCK"];
}

export async function startStock(folder: string): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "differential-stock-"));
  const ports = await freePorts();
  writeKeys(directory);
  const etcd = startEtcd(folder, directory, ports);
  await until(() => reachable(`http://127.0.0.1:${ports.etcd}/health`));
  const server = startApiServer(folder, directory, ports);
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
  const target = {
    url: `https://127.0.0.1:${ports.api}`,
    agent,
    headers: { authorization: "Bearer tok" },
  };
  await until(() => ready(target));
  return {
    ...target,
    async stop() {
      agent.destroy();
      await stopProcess(server);
      await stopProcess(etcd);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Ports {
  readonly api: number;
  readonly etcd: number;
  readonly peer: number;
}

async function freePorts(): Promise<Ports> {
  return { api: await freePort(), etcd: await freePort(), peer: await freePort() };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

function writeKeys(directory: string): void {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const publicPem = publicKey.export({ type: "spki", format: "pem" });
  const privatePem = privateKey.export({ type: "pkcs1", format: "pem" });
  writeFileSync(join(directory, "sa.pub"), publicPem);
  writeFileSync(join(directory, "sa.key"), privatePem, { mode: 0o600 });
  writeFileSync(join(directory, "tokens.csv"), `tok,${user},1,"system:masters"\n`);
  mkdirSync(join(directory, "certs"));
}

function startEtcd(folder: string, directory: string, ports: Ports): ChildProcess {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.peer}`;
  return start(join(folder, "etcd-bin"), directory, "etcd", [
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ]);
}

function startApiServer(folder: string, directory: string, ports: Ports): ChildProcess {
  return start(join(folder, "kube-apiserver"), directory, "api", [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--secure-port=${ports.api}`,
    "--bind-address=127.0.0.1",
    "--cert-dir=certs",
    "--service-account-key-file=sa.pub",
    "--service-account-signing-key-file=sa.key",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--token-auth-file=tokens.csv",
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.96.0.0/16",
  ]);
}

function start(
  program: string,
  directory: string,
  name: string,
  args: readonly string[],
): ChildProcess {
  const out = openSync(join(directory, `${name}.log`), "a");
  return spawn(program, args, { cwd: directory, stdio: ["ignore", out, out] });
}

async function stopProcess(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.on("exit", resolve));
  const hard = setTimeout(() => child.kill("SIGKILL"), 5_000);
  child.kill("SIGTERM");
  await gone;
  clearTimeout(hard);
}

const startMsMax = 120_000;

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + startMsMax;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error("the stock server did not start");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function reachable(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** Ready includes the bootstrap roles and priorities, and the default namespace. */
async function ready(target: Target): Promise<boolean> {
  const answers = await Promise.all(
    ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"].map((path) =>
      statusOf(target, path),
    ),
  );
  return answers.every((status) => status === 200);
}

function statusOf(target: Target, path: string): Promise<number> {
  return new Promise((resolve) => {
    const { agent, headers } = target;
    const request = https.get(target.url + path, { agent, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("error", () => resolve(0));
  });
}
