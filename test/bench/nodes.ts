/** `npm run bench -- nodes`: see `usage`. */
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "../process/harness.ts";
import { credentialsOf, type Json, KubeHttp } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { type Cell, figure, printTable, progress, progressDone } from "./store/table.ts";
import { until } from "./until.ts";
import { Bystander, quantile } from "./zone-loss/bystander.ts";

const usage = `npm run bench -- nodes [--nodes N] [--hold-seconds N] [--replicas N] [--objects N]

What hollow nodes take, and how fast the loops are at size, in one "pilothouse up": nodes join, are held, a Deployment comes up, the
process is killed and starts again over its pods, a namespace of ConfigMaps is deleted. A reader asks for a pod 20 times a second.

  --nodes N         (1000)
  --hold-seconds N  for which CPU and answers are looked at, with the heartbeats alone (30)
  --replicas N      of the Deployment (10000)
  --objects N       in the namespace that is deleted (10000)
`;
const flags = flagsOf(usage, {
  nodes: "1000",
  "hold-seconds": "30",
  replicas: "10000",
  objects: "10000",
});
const nodes = flags.number("nodes");
const holdSeconds = flags.number("hold-seconds");
const replicas = flags.number("replicas");
const objects = flags.number("objects");
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const writersMax = 64;
const namespace = "full";

const rows: Cell[][] = [];
const row = (what: string, asked: string, value: number, unit: string): void => {
  progress(`${what}: ${figure(value)} ${unit}`);
  rows.push([what, asked, value, unit]);
};
const directory = temporaryDirectory("nodes");
const args = ["--data-dir", join(directory, "data"), "--port", "0"];
let plane: Running | undefined;
try {
  const empty = await startUp([...args, "--nodes", "0"]);
  const bare = residentBytes(empty.pid);
  await empty.stop();
  plane = await startUp([...args, "--nodes", String(nodes)]);
  await main(plane, bare);
} finally {
  await plane?.kill();
  removeDirectory(directory);
}
progressDone();
printTable(`${nodes} hollow nodes`, ["what", "asked", "measured", "unit"], rows);

async function main(up: Running, bareBytes: number): Promise<void> {
  const http = new KubeHttp(credentialsOf(up.kubeconfig));
  await joinAll(http);
  await hold(up, http, bareBytes);
  await deploy(http);
  await restart(up);
  const again = new KubeHttp(credentialsOf(up.kubeconfig));
  await deleteNamespace(again);
  again.close();
}

/** The process says that it is ready before its nodes have joined. */
async function joinAll(http: KubeHttp): Promise<void> {
  const beganMs = performance.now();
  await until("nodes", async () => (await readyNodes(http)) >= nodes);
  const seconds = (performance.now() - beganMs) / 1_000;
  row("nodes joined", ">= 1,000", nodes / seconds, "a second");
}

async function readyNodes(http: KubeHttp): Promise<number> {
  const { body } = await http.request("GET", "/api/v1/nodes?limit=1");
  return count(body);
}

/** Of a list of which one item was asked for. */
function count(list: Json): number {
  const items = (list["items"] ?? []) as readonly Json[];
  return items.length + Number(list["metadata"]?.["remainingItemCount"] ?? 0);
}

async function hold(up: Running, http: KubeHttp, bareBytes: number): Promise<void> {
  const reader = new Bystander(50, () => http.request("GET", "/api/v1/pods?limit=1"));
  await sleep(5_000);
  const cpuBefore = cpuSeconds(up.pid);
  reader.start();
  await sleep(holdSeconds * 1_000);
  reader.stop();
  const cpu = (cpuSeconds(up.pid) - cpuBefore) / holdSeconds;
  row("reader's p99, heartbeats alone", "< 1,000", quantile(reader.all, 0.99), "ms");
  row("CPU for heartbeats", "", cpu, "cores");
  const bytes = (residentBytes(up.pid) - bareBytes) / nodes;
  row("memory of a node, its objects in the store included", "2", bytes / 1024, "KB");
}

async function deploy(http: KubeHttp): Promise<void> {
  const beganMs = performance.now();
  await http.request("POST", deployments, deployment("big", replicas));
  await until("an available Deployment", () => isAvailable(http, "big", replicas));
  const seconds = (performance.now() - beganMs) / 1_000;
  row(`Deployment of ${replicas} replicas Available`, "<= 20 (10,000)", seconds, "s");
  row("pods to Running", ">= 3,000", replicas / seconds, "a second");
}

async function isAvailable(http: KubeHttp, name: string, most: number): Promise<boolean> {
  const { body } = await http.request("GET", `${deployments}/${name}`);
  return Number(body["status"]?.["availableReplicas"] ?? 0) >= most;
}

function deployment(name: string, size: number): object {
  const labels = { app: name };
  const containers = [{ name: "c", image: "nginx" }];
  const template = { metadata: { labels }, spec: { containers } };
  const spec = { replicas: size, selector: { matchLabels: labels }, template };
  return { metadata: { name }, spec };
}

/** Killed and started again: until a new Deployment is available over all that was there. */
async function restart(up: Running): Promise<void> {
  await up.kill();
  const beganMs = performance.now();
  plane = await startUp([...args, "--nodes", String(nodes)]);
  const http = new KubeHttp(credentialsOf(plane.kubeconfig));
  await http.request("POST", deployments, deployment("after", 1));
  await until("a Deployment after the restart", () => isAvailable(http, "after", 1));
  const seconds = (performance.now() - beganMs) / 1_000;
  row(`restarted over ${replicas} pods, a new pod available`, "<= 5 (100,000)", seconds, "s");
  http.close();
}

async function deleteNamespace(http: KubeHttp): Promise<void> {
  await http.request("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < objects) {
      const metadata = { name: `o${next++}` };
      await http.request("POST", `/api/v1/namespaces/${namespace}/configmaps`, { metadata });
    }
  };
  await Promise.all(Array.from({ length: writersMax }, write));
  const beganMs = performance.now();
  await http.request("DELETE", `/api/v1/namespaces/${namespace}`);
  await until("the namespace is gone", async () => {
    return (await http.request("GET", `/api/v1/namespaces/${namespace}`)).status === 404;
  });
  const seconds = (performance.now() - beganMs) / 1_000;
  row(`namespace of ${objects} objects deleted`, "<= 15 (10,000)", seconds, "s");
}
