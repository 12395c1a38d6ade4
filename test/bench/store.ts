/**
 * `npm run bench -- store [etcd binary]`: durable puts of 1 KB through the etcd API, ours beside a
 * real etcd, on the same machine and disk.
 *
 * Each server is alone on core 0 where taskset is there, the generator (h2-load.ts) on core 1. Runs
 * alternate between the two, median of five; CPU seconds are the server's own, RSS its largest.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { EtcdClient } from "../../src/etcd/client.ts";
import { findEtcd } from "../../src/etcd/testing/servers.ts";
import type { LoadResult } from "./h2-load.ts";

const clientCounts = [1, 16, 64, 256];
const runs = 5;
const seconds = 1;
const valueBytes = 1024;
const connectionsMax = 8;
const ticksPerSecond = 100;

interface Server {
  readonly name: string;
  readonly port: number;
  readonly process: ChildProcess;
  readonly directory: string;
}

interface Run extends LoadResult {
  readonly cpuUsPerPut: number;
  readonly rssMiB: number;
}

const pinned = spawnSync("taskset", ["-c", "0", "true"]).status === 0 && cpus().length > 1;
const root = new URL("../..", import.meta.url).pathname;

function start(name: string, port: number, directory: string, command: readonly string[]): Server {
  const [program = "", ...args] = pinned ? ["taskset", "-c", "0", ...command] : command;
  const server = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] });
  return { name, port, directory, process: server };
}

async function startOurs(): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "bench-pilothouse-"));
  const port = await freePort();
  const main = join(root, "src/cmd/main.ts");
  const flags = ["store", "--data-dir", directory, "--listen", `127.0.0.1:${port}`];
  return start("pilothouse", port, directory, [process.execPath, main, ...flags]);
}

async function startEtcd(binary: string): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "bench-etcd-"));
  const port = await freePort();
  const [url, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${await freePort()}`];
  return start("etcd", port, directory, [
    binary,
    `--data-dir=${directory}`,
    "--log-level=error",
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ]);
}

async function untilReady({ port, name }: Server): Promise<void> {
  for (let left = 200; left > 0; left--) {
    const client = new EtcdClient(`http://127.0.0.1:${port}`);
    const ready = await client.status().then(
      () => true,
      () => false,
    );
    client.close();
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${name} did not start`);
}

function run(server: Server, clients: number): Run {
  const connections = Math.min(clients, connectionsMax);
  const load = [
    join(root, "test/bench/h2-load.ts"),
    server.port,
    clients,
    connections,
    seconds,
    valueBytes,
  ];
  const command = [process.execPath, ...load.map(String)];
  const [program = "", ...args] = pinned ? ["taskset", "-c", "1", ...command] : command;
  const before = cpuSeconds(server);
  const { stdout, stderr, status } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`load on ${server.name} failed: ${stderr}`);
  const result = JSON.parse(stdout) as LoadResult;
  // Warming up and tailing off is load as well: the rate is the same, the time is longer.
  const puts = result.perSecond * (seconds + 0.5);
  const cpuUsPerPut = Math.round(((cpuSeconds(server) - before) * 1e6) / Math.max(1, puts));
  return { ...result, cpuUsPerPut, rssMiB: rssMiB(server) };
}

/** User and system time of the process, from Linux's /proc; taskset has become the server by exec. */
function cpuSeconds({ process: { pid } }: Server): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function rssMiB({ process: { pid } }: Server): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

function median(all: readonly Run[]): Run {
  return all.toSorted((a, b) => a.perSecond - b.perSecond)[all.length >> 1] as Run;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}

function row(name: string, clients: number, result: Run, times: string): string {
  const { perSecond, p50Ms, p99Ms, cpuUsPerPut, rssMiB: rss } = result;
  return `| ${name} | ${clients} | ${perSecond} | ${p50Ms} | ${p99Ms} | ${cpuUsPerPut} | ${rss} | ${times} |\n`;
}

const etcd = process.argv[2] ?? findEtcd();
if (etcd === undefined)
  process.stdout.write("no etcd found (argument, or PILOTHOUSE_ETCD): ours alone\n");
const servers = [await startOurs(), ...(etcd === undefined ? [] : [await startEtcd(etcd)])];
try {
  for (const server of servers) await untilReady(server);
  process.stdout.write(
    `durable puts of ${valueBytes} B, median of ${runs} runs of ${seconds} s, ${pinned ? "server on one core" : "not pinned"}\n\n` +
      "| server | clients | puts/s | p50 ms | p99 ms | CPU us/put | RSS MiB | x etcd |\n|---|---|---|---|---|---|---|---|\n",
  );
  for (const clients of clientCounts) {
    const all = new Map<Server, Run[]>(servers.map((server) => [server, []]));
    for (let i = 0; i < runs; i++)
      for (const server of servers) all.get(server)?.push(run(server, clients));
    const medians = servers.map((server) => median(all.get(server) as Run[]));
    const theirs = medians[1]?.perSecond;
    servers.forEach(({ name }, i) => {
      const result = medians[i] as Run;
      const times = theirs === undefined ? "" : (result.perSecond / theirs).toFixed(2);
      process.stdout.write(row(name, clients, result, times));
    });
  }
} finally {
  for (const server of servers) {
    server.process.kill("SIGKILL");
    rmSync(server.directory, { recursive: true, force: true });
  }
}
