/** A plane whose controllers can be exchanged: ours, or a stock kube-controller-manager beside it. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import type { Client } from "#client/client.ts";
import { createInformerSet } from "#client/informer-set.ts";
import type { SupervisedHost } from "#cmd/shared/host.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { startPlane } from "#cmd/plane/plane.ts";
import { supervised } from "#cmd/shared/supervise.ts";
import { createControllerManager } from "#controllers/manager.ts";
import { createHollowNodes } from "#hollow/hollow.ts";
import { hollowDefaults } from "#hollow/options.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { createScheduler, schedulerDefaults } from "#scheduler/scheduler.ts";
import { bound } from "./bound-child.ts";

export interface ManagerRun {
  /** Resolves when it does not write any more. */
  stop(): Promise<void>;
}

export interface TakeoverPlane {
  readonly client: Client;
  startOurs(): ManagerRun;
  /** `program` is a stock kube-controller-manager. */
  startStock(program: string): ManagerRun;
  /** What the stock manager printed. */
  stockLog(): string;
  stop(): Promise<void>;
}

/** API, scheduler and `nodes` hollow nodes; no controllers yet. `directory` is the caller's to remove. */
export async function startTakeoverPlane(directory: string, nodes: number): Promise<TakeoverPlane> {
  const host = supervised({
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  });
  const pki = ensurePki(join(directory, "pki"), { ...host, extraHosts: [], serviceAddress });
  const listener = { host: "127.0.0.1", port: 0 };
  const plane = await startPlane(host, { pki, ...listener, nodes: 0, loops: "none" });
  const { client } = plane;
  const ending = new AbortController();
  const { signal } = ending;
  const informers = createInformerSet({ ...host, client });
  const scheduler = createScheduler({ ...host, client, informers }, schedulerDefaults);
  const options = { ...hollowDefaults, count: nodes, startMs: 100, stopMs: 100 };
  const hollow = createHollowNodes({ ...host, client }, options);
  const running = [scheduler.run(signal), informers.run(signal), hollow.run(signal)];
  await hollow.registered;
  writeKubeconfig(directory, plane.url, pki);
  return {
    client,
    startOurs: () => startOurs(host, client, pki.authority.certificate),
    startStock: (program) => startStock(program, directory),
    stockLog: () => readFileSync(join(directory, "stock.log"), "utf8"),
    async stop() {
      ending.abort();
      await Promise.all(running);
      await plane.stop();
    },
  };
}

function startOurs(host: SupervisedHost, client: Client, rootCa: string): ManagerRun {
  const ending = new AbortController();
  const { signal } = ending;
  const informers = createInformerSet({ ...host, client });
  const manager = createControllerManager(
    { ...host, clientFor: () => client, informers },
    { rootCa },
  );
  const running = [manager.run(signal), informers.run(signal)];
  return {
    async stop() {
      ending.abort();
      await Promise.all(running);
    },
  };
}

function startStock(program: string, directory: string): ManagerRun {
  const out = openSync(join(directory, "stock.log"), "a");
  const args = [
    `--kubeconfig=${join(directory, "kubeconfig")}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--bind-address=127.0.0.1",
    // More than a client's usual 20 requests a second: rollouts of many workloads are under way.
    "--kube-api-qps=200",
    "--kube-api-burst=400",
  ];
  const stdio = ["ignore", out, out] as const;
  const child = bound(spawn(program, args, { cwd: directory, stdio: [...stdio] }));
  return { stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGKILL");
  await gone;
}

function writeKubeconfig(directory: string, server: string, pki: Pki): void {
  const text = kubeconfigYaml({
    server,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
    user: "kubernetes-admin",
    cluster: "takeover",
  });
  writeFileSync(join(directory, "kubeconfig"), text, { mode: 0o600 });
}
