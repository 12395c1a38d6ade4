/** `npm run bench -- cores`: see `usage`. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { KubeHttp } from "../process/kube-http.ts";
import { type ServingThreads, startServingThreads } from "../process/serving-threads.ts";
import { flagsOf } from "./flags.ts";

const usage = `npm run bench -- cores [--workers 1,2] [--seconds N] [--connections N] [--at-once N] [--objects N] [--memory N]

An API server that serves from one thread and from several: requests a second, and CPU of the server for each request, of all its
threads and of the first one, which orders writes. The load comes from this process, which takes its own CPU beside the server:
on two cores the CPU figures say more than the rates.

  --workers LIST    (1,2)
  --seconds N       of one verb (5)
  --connections N   HTTP/2 over TLS (8)
  --at-once N       requests of a connection (4)
  --objects N       ConfigMaps of 2 KB that are listed (200)
  --memory N        ConfigMaps of 6.5 KB that are stored before memory is read; 0: it is not (0)
`;

const flags = flagsOf(usage, {
  workers: "1,2",
  seconds: "5",
  connections: "8",
  "at-once": "4",
  objects: "200",
  memory: "0",
});
const seconds = flags.number("seconds");
const connections = flags.number("connections");
const atOnce = flags.number("at-once");
const objects = flags.number("objects");
const memoryObjects = flags.number("memory", 0);
const counts = flags.text("workers").split(",").map(Number);
const path = "/api/v1/namespaces/default/configmaps";
const tickUs = 10_000;

interface Cpu {
  readonly all: number;
  readonly first: number;
}

/** Microseconds so far. */
function cpuOf(pid: number): Cpu {
  const of = (stat: string): number => {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * tickUs;
  };
  const first = of(readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8"));
  return { all: of(readFileSync(`/proc/${pid}/stat`, "utf8")), first };
}

function memoryMb(pid: number): number {
  const [, kb = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kb) / 1024);
}

function configMap(name: string, bytes: number): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { d: "x".repeat(bytes) },
  };
}

type Call = (client: KubeHttp, at: number) => Promise<unknown>;

let names = 0;
const calls: Readonly<Record<string, Call>> = {
  get: (client) => client.request("GET", `${path}/c-1`),
  list: (client) => client.request("GET", path),
  patch: (client, at) =>
    client.request(
      "PATCH",
      `${path}/c-${at % objects}`,
      { data: { n: String(names++) } },
      "application/merge-patch+json",
    ),
  create: (client) => client.request("POST", path, configMap(`n-${names++}`, 2_000)),
};

async function measure(server: ServingThreads, clients: readonly KubeHttp[], call: Call) {
  let done = 0;
  const endMs = performance.now() + seconds * 1_000;
  const before = cpuOf(server.pid);
  const run = async (client: KubeHttp, first: number): Promise<void> => {
    for (let at = first; performance.now() < endMs; at += connections * atOnce) {
      await call(client, at);
      done++;
    }
  };
  const runs = clients.flatMap((client, at) =>
    Array.from({ length: atOnce }, (_, one) => run(client, at * atOnce + one)),
  );
  await Promise.all(runs);
  const after = cpuOf(server.pid);
  return {
    rate: Math.round(done / seconds),
    cpuUs: Math.round((after.all - before.all) / done),
    firstUs: Math.round((after.first - before.first) / done),
  };
}

/** Deliveries of patches to watchers, and what they cost. */
async function measureWatch(server: ServingThreads, clients: readonly KubeHttp[]) {
  let events = 0;
  const watchers = Array.from({ length: 64 }, () => server.connect());
  for (const one of watchers)
    void one.lines(`${path}?watch=true&resourceVersion=0`, () => events++);
  await pause(3_000);
  const begun = events;
  const { rate, cpuUs, firstUs } = await measure(server, clients, calls["patch"] as Call);
  await pause(500);
  const perWrite = (events - begun) / Math.max(1, rate * seconds);
  watchers.forEach((one) => one.close());
  return {
    rate: Math.round((events - begun) / seconds),
    cpuUs: Math.round((10 * cpuUs) / perWrite) / 10,
    firstUs: Math.round((10 * firstUs) / perWrite) / 10,
  };
}

async function fill(
  clients: readonly KubeHttp[],
  count: number,
  bytes: number,
  prefix: string,
): Promise<void> {
  let next = 0;
  const run = async (client: KubeHttp): Promise<void> => {
    for (let at = next++; at < count; at = next++)
      await client.request("POST", path, configMap(`${prefix}-${at}`, bytes));
  };
  await Promise.all(clients.flatMap((client) => [run(client), run(client), run(client)]));
}

console.log(`| serving workers | verb | a second | CPU us each | of them in the first thread |`);
console.log(`|---|---|---|---|---|`);
for (const count of counts) {
  const server = await startServingThreads(count);
  const clients = Array.from({ length: connections }, () => server.connect());
  const idle = memoryMb(server.pid);
  await fill(clients, objects, 2_000, "c");
  for (const [verb, call] of Object.entries(calls)) {
    const { rate, cpuUs, firstUs } = await measure(server, clients, call);
    console.log(`| ${count} | ${verb} | ${rate} | ${cpuUs} | ${firstUs} |`);
  }
  const { rate, cpuUs, firstUs } = await measureWatch(server, clients);
  console.log(`| ${count} | watch, a delivery | ${rate} | ${cpuUs} | ${firstUs} |`);
  if (memoryObjects > 0) {
    await fill(clients, memoryObjects, 6_500, "m");
    await pause(5_000);
    console.log(
      `| ${count} | memory, MB: idle, with ${memoryObjects} objects | ${idle}, ${memoryMb(server.pid)} | | |`,
    );
  }
  clients.forEach((client) => client.close());
  await server.stop();
}
