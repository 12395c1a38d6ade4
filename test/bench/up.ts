/** `npm run bench -- up`: what a user of `pilothouse up` waits for; see `usage`. */
import { spawnSync } from "node:child_process";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { startControlPlane } from "../../src/run/cmd/embed.ts";
import * as harness from "../process/harness.ts";
import { credentialsOf, KubeHttp, type Json } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

const runs = 5;
const stored = 50_000;
const replicas = 1000;
const nodes = 100;
const deployments = "/apis/apps/v1/namespaces/default/deployments";

interface Row {
  readonly what: string;
  readonly asked: string;
  readonly values: readonly number[];
  readonly unit: string;
  readonly note?: string;
}

const usage = `npm run bench -- up [--kills N]

What a user of "pilothouse up" waits for, as processes on this machine. Figures are medians of ${runs} with the
range beside them; CPU-seconds and memory are the server's own, from /proc.

  --kills N   adds the crash experiment with N kills (0: none)
`;
const kills = flagsOf(usage, { kills: "0" }).number("kills", 0);
const rows: Row[] = [];
const directory = harness.temporaryDirectory("bench");
try {
  rows.push(await readyFresh());
  rows.push(...(await readyFull()));
  rows.push(await idleMemory());
  rows.push(...(await deployment()));
} finally {
  harness.removeDirectory(directory);
}
print(rows);
crash();

async function readyFresh(): Promise<Row> {
  const values: number[] = [];
  for (let run = 0; run < runs; run++) {
    const up = await harness.startUp(flags(`fresh-${run}`, 10));
    values.push(up.readyMs / 1000);
    await up.stop();
  }
  return {
    what: "ready, new data dir",
    asked: "< 1",
    values,
    unit: "s",
    note: "spawn to ready line",
  };
}

async function readyFull(): Promise<readonly Row[]> {
  await fill(join(directory, "full"));
  const ready: number[] = [];
  const memory: number[] = [];
  for (let run = 0; run < runs; run++) {
    const up = await harness.startUp(flags("full", 10));
    ready.push(up.readyMs / 1000);
    memory.push(residentMb(up.pid));
    await up.stop();
  }
  const what = `${stored} objects of 2.5 KB`;
  return [
    { what: `ready, ${what}`, asked: "< 1.5", values: ready, unit: "s" },
    { what: `memory at ready, ${what}`, asked: "", values: memory, unit: "MB" },
  ];
}

/** In process and in parallel: only the time until they are durable matters, not who sends them. */
async function fill(dataDir: string): Promise<void> {
  progress(`filling a data dir with ${stored} objects`);
  const plane = await startControlPlane({ dataDir, nodes: 0 });
  const ref = { group: "", version: "v1", resource: "configmaps" };
  const pad = "x".repeat(2300);
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < stored) {
      const name = `object-${next++}`;
      await plane.client.create(ref, "default", { metadata: { name }, data: { pad } } as never);
    }
  };
  await Promise.all(Array.from({ length: 128 }, writer));
  await plane.stop();
}

async function idleMemory(): Promise<Row> {
  const values: number[] = [];
  for (let run = 0; run < runs; run++) {
    const up = await harness.startUp(flags(`idle-${run}`, 10));
    await new Promise((resolve) => setTimeout(resolve, 5000));
    values.push(residentMb(up.pid));
    await up.stop();
  }
  return {
    what: "idle memory, 10 nodes",
    asked: "< 150",
    values,
    unit: "MB",
    note: "RSS 5 s after ready",
  };
}

async function deployment(): Promise<readonly Row[]> {
  const create: number[] = [];
  const remove: number[] = [];
  const cpu: number[] = [];
  for (let run = 0; run < runs; run++) {
    const up = await harness.startUp(flags(`deploy-${run}`, nodes));
    const http = new KubeHttp(credentialsOf(up.kubeconfig));
    await until(async () => (await items(http, "/api/v1/nodes")).length === nodes);
    const before = cpuSeconds(up.pid);
    create.push(await seconds(() => createAndWait(http)));
    remove.push(await seconds(() => deleteAndWait(http)));
    cpu.push(cpuSeconds(up.pid) - before);
    http.close();
    await up.stop();
  }
  return [
    {
      what: `Deployment of ${replicas}, all Available`,
      asked: "< 10",
      values: create,
      unit: "s",
      note: `${nodes} nodes`,
    },
    { what: "its deletion, all pods gone", asked: "< 10", values: remove, unit: "s" },
    { what: "CPU for both", asked: "", values: cpu, unit: "CPU-s" },
  ];
}

async function createAndWait(http: KubeHttp): Promise<void> {
  const labels = { app: "web" };
  const spec = {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "nginx", image: "nginx" }] } },
  };
  const answer = await http.request("POST", deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  await until(async () => {
    const { body } = await http.request("GET", `${deployments}/web`);
    return Number(body["status"]?.["availableReplicas"]) === replicas;
  });
}

async function deleteAndWait(http: KubeHttp): Promise<void> {
  await http.request("DELETE", `${deployments}/web`, {
    kind: "DeleteOptions",
    apiVersion: "v1",
    propagationPolicy: "Background",
  });
  await until(
    async () => (await items(http, "/api/v1/namespaces/default/pods?limit=1")).length === 0,
  );
}

async function items(http: KubeHttp, path: string): Promise<readonly Json[]> {
  return ((await http.request("GET", path)).body["items"] ?? []) as readonly Json[];
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("not within 120 s");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function seconds(action: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await action();
  return (performance.now() - startedMs) / 1000;
}

function flags(name: string, count: number): readonly string[] {
  progress(name);
  return ["--data-dir", join(directory, name), "--port", "0", "--nodes", String(count)];
}

function residentMb(pid: number): number {
  return residentBytes(pid) / 2 ** 20;
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function print(results: readonly Row[]): void {
  progress("");
  const host = `${cpus().length} cores (${cpus()[0]?.model ?? "?"}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
  console.log(`\npilothouse up, ${runs} runs each, ${host}\n`);
  console.log("| what | asked | median | least - most | |");
  console.log("|---|---|---|---|---|");
  for (const { what, asked, values, unit, note = "" } of results) {
    const sorted = values.toSorted((a, b) => a - b);
    const show = (value: number | undefined): string =>
      (value ?? Number.NaN).toFixed(unit === "MB" ? 0 : 2);
    const median = sorted[Math.floor(sorted.length / 2)];
    console.log(
      `| ${what} | ${asked} | ${show(median)} ${unit} | ${show(sorted[0])} - ${show(sorted.at(-1))} | ${note} |`,
    );
  }
}

function crash(): void {
  if (kills === 0) return;
  const env = { ...process.env, PILOTHOUSE_KILLS: String(kills) };
  const file = join(harness.root, "test", "process", "kill.test.ts");
  const result = spawnSync(process.execPath, ["--test", file], { stdio: "inherit", env });
  process.exitCode = result.status ?? 1;
}
