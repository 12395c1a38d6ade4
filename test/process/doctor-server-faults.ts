/**
 * Faults of one API server, made for real: its certificates, its open files, what is kept in it, and the etcd
 * that it loses for a while.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import http2 from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import { EtcdClient } from "#etcd/client.ts";
import { bound } from "./bound-child.ts";
import { type LiveFault, type LiveWorld, type Made, refOf, times } from "./doctor-faults.ts";
import type { EtcdCluster } from "./etcd-cluster.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const dayMs = 86_400_000;
/** Below the rule's seven days. */
export const nearEndMs = 3 * dayMs;

export const issueFor = (lifetimeMs: number) => ({
  validity: { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + lifetimeMs },
  serial: randomBytes(16),
});

interface ShownServer {
  readonly url: string;
  readonly authority: IssuedCertificate;
}

/** A client whose certificate ends in three days; its neighbour's in thirty-one. */
export const clientCertificate = (server: ShownServer): LiveFault => ({
  rule: "certificate-near-end",
  culprit: /^a client with a certificate$/,
  fault: () => Promise.resolve({ load: () => askWith(server, nearEndMs) }),
  neighbour: () => Promise.resolve({ load: () => askWith(server, 31 * dayMs) }),
});

function askWith({ url, authority }: ShownServer, lifetimeMs: number): Promise<void> {
  const subject = { commonName: "live-user", organizations: [] };
  const { certificate, privateKey } = makeClientCertificate(
    authority,
    subject,
    issueFor(lifetimeMs),
  );
  return new Promise((resolve, reject) => {
    const session = http2.connect(url, {
      cert: certificate,
      key: privateKey,
      ca: authority.certificate,
    });
    session.on("error", reject);
    const stream = session.request({ ":path": "/version" });
    stream.resume();
    stream.on("close", () => {
      session.destroy();
      resolve();
    });
  });
}

/** A stock server has some eighty files open by itself, ours forty. */
export const openFilesMax = 1_024;

/** Of a server that may open so many files. The connections stay open while the doctor looks. */
export const openFiles = ({ url }: Pick<ShownServer, "url">): LiveFault => ({
  rule: "open-files",
  culprit: /^the API server's process$/,
  fault: () => Promise.resolve(connections(url, 860)),
  neighbour: () => Promise.resolve(connections(url, 300)),
});

function connections(url: string, count: number): Made {
  const { hostname, port } = new URL(url);
  let open: Socket[] = [];
  return {
    load: async () => {
      if (open.length > 0) return;
      open = times(count, () => connect(Number(port), hostname).on("error", () => {}));
      await sleep(50);
    },
    end: () => open.forEach((one) => one.destroy()),
  };
}

const silentNames = ["live-zone-0", "live-zone-1"];
const wellNames = ["live-zone-2", "live-zone-3"];

/** Four nodes of two zones; those of one of them are silent. */
export const silentZone: LiveFault = {
  rule: "silent-nodes",
  culprit: /^zone live-a: node live-zone-0, live-zone-1$/,
  fault: async (world) => {
    for (const name of silentNames) await createNode(world, name, "live-a");
    for (const name of wellNames) await createNode(world, name, "live-b");
    for (const name of silentNames) await renewedAt(world, name, "2026-01-01T00:00:00.000000Z");
    for (const name of wellNames) await renewedAt(world, name, microtime());
    return { end: () => endLeases(world) };
  },
  neighbour: async (world) => {
    for (const name of wellNames) await renewedAt(world, name, microtime());
    return { end: () => endLeases(world) };
  },
};

const microtime = (): string => new Date().toISOString().replace("Z", "000Z");

async function createNode({ create }: LiveWorld, name: string, zone: string): Promise<void> {
  const labels = { "topology.kubernetes.io/zone": zone };
  await create(refOf("", "nodes"), "", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
  });
}

const nodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

async function endLeases({ ask }: LiveWorld): Promise<void> {
  for (const name of [...silentNames, ...wellNames]) await ask("DELETE", `${nodeLeases}/${name}`);
}

async function renewedAt({ ask }: LiveWorld, name: string, renewTime: string): Promise<void> {
  const path = `${nodeLeases}/${name}`;
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
  await ask("PUT", path, { metadata: { name }, spec });
}

export const objectGrowth: LiveFault = {
  rule: "object-growth",
  culprit: /^whoever makes configmaps$/,
  fault: (world) => createMany(world, 25_100),
  neighbour: (world) => createMany(world, 2_000),
};

async function createMany({ ask }: LiveWorld, count: number): Promise<Made> {
  for (let left = count; left > 0; left -= 250) {
    const createOne = () => ask("POST", configMaps, { metadata: { generateName: "many-" } });
    await Promise.all(times(Math.min(left, 250), createOne));
  }
  return {};
}

/** Stuck for more minutes than a test takes: the doctor's clock is ahead. */
export const doctorAheadMs = 6 * 60_000;

export const stuckNamespace: LiveFault = {
  rule: "stuck-namespace",
  culprit: /live\.example\.com\/never/,
  // By the doctor's clock all of them are late.
  also: ["silent-nodes", "leader-stuck"],
  fault: (world) => endNamespace(world, "live-stuck", ["live.example.com/never"]),
  neighbour: (world) => endNamespace(world, "live-ended", []),
};

/** The namespace controller does not get through while a finalizer holds one of its objects. */
async function endNamespace(
  { ask }: LiveWorld,
  name: string,
  finalizers: readonly string[],
): Promise<Made> {
  await ask("POST", "/api/v1/namespaces", { metadata: { name } });
  await ask("POST", `/api/v1/namespaces/${name}/configmaps`, {
    metadata: { name: "held", finalizers },
  });
  await ask("DELETE", `/api/v1/namespaces/${name}`);
  const isOver = async (): Promise<boolean> =>
    (await ask("GET", `/api/v1/namespaces/${name}`)) === 404;
  for (let tries = 0; tries < 100 && !(await isOver()); tries++) {
    if (finalizers.length > 0 && tries > 20) break;
    await sleep(100);
  }
  return {};
}

/** `pid`: of the API server. It sleeps while its etcd ends, comes again, and forgets what it missed. */
export const watchCacheRestart = (etcd: EtcdCluster, pid: () => number): LiveFault => ({
  rule: "watch-cache-restart",
  culprit: /^watch cache of /,
  also: ["slow-requests", "store-latency", "request-errors", "store-quorum"],
  fault: (world) => {
    let isDone = false;
    return Promise.resolve({
      load: async () => {
        if (isDone) return;
        isDone = true;
        await sleep(1_500);
        process.kill(pid(), "SIGSTOP");
        try {
          await loseHistory(etcd);
        } finally {
          process.kill(pid(), "SIGCONT");
        }
        await world.ask("GET", configMaps);
      },
    });
  },
  // The store is away as long, and forgets nothing.
  neighbour: () => {
    let isDone = false;
    return Promise.resolve({
      load: async () => {
        if (isDone) return;
        isDone = true;
        await sleep(1_500);
        await etcd.kill(0);
        await etcd.restart(0);
      },
    });
  },
});

/** The connections of its clients end with it. */
async function loseHistory(etcd: EtcdCluster): Promise<void> {
  await etcd.kill(0);
  await etcd.restart(0);
  const client = new EtcdClient(etcd.urls[0] ?? "");
  for (const at of times(8, (n) => n)) {
    await client.put({ key: "/registry/configmaps/default/away", value: Buffer.from(String(at)) });
  }
  await client.deleteRange({ key: "/registry/configmaps/default/away" });
  const { header } = await client.status();
  await client.compact(Number(header?.revision ?? 0));
  client.close();
}

const bigText = "x".repeat(100_000);

/** Six watchers that read nothing; their neighbours read the same. */
export const slowWatchers: LiveFault = {
  rule: "slow-watchers",
  culprit: /^watchers of configmaps$/,
  also: ["slow-requests"],
  fault: (world) => watchBig(world, world.watchUnread),
  neighbour: (world) => watchBig(world, world.watch),
};

async function watchBig({ ask }: LiveWorld, watch: LiveWorld["watch"]): Promise<Made> {
  await ask("POST", configMaps, { metadata: { name: "big" } });
  const path = `${configMaps}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dbig`;
  for (let at = 0; at < 6; at++) await watch(path);
  let turn = 0;
  return {
    load: async () => {
      for (let at = 0; at < 20; at++) {
        const data = { text: bigText, turn: String(turn++) };
        await ask("PUT", `${configMaps}/big`, { metadata: { name: "big" }, data });
      }
    },
  };
}

/** Each sync of the etcd takes 60 ms longer, by strace. */
export const storeDisk = (etcd: EtcdCluster, strace: string): LiveFault => ({
  rule: "store-disk",
  culprit: /^the disk of etcd's data directory$/,
  also: ["store-latency", "slow-requests"],
  fault: (world) => {
    let slowed: ChildProcess | undefined;
    return Promise.resolve({
      load: async () => {
        slowed ??= slowSyncs(strace, etcd.pids[0] ?? 0);
        await write(world);
      },
      end: () => void slowed?.kill(),
    });
  },
  neighbour: (world) => Promise.resolve({ load: () => write(world) }),
});

function slowSyncs(strace: string, pid: number): ChildProcess {
  const inject = "inject=fsync,fdatasync:delay_enter=60000";
  const args = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", inject];
  return bound(spawn(strace, [...args, "-p", String(pid)], { stdio: "ignore" }));
}

/** One after another: etcd writes those that come together with one sync. */
async function write({ ask }: LiveWorld): Promise<void> {
  for (let at = 0; at < 4; at++) {
    await ask("POST", configMaps, { metadata: { generateName: "live-" }, data: { a: "b" } });
  }
}
