/**
 * `etcdctl check perf`: etcd's own idea of fast enough, run by its own tool against both, and against
 * a server without a store, which is the most that the tool can reach on this machine.
 *
 * Nobody is pinned: the tool wants about a core, and paces itself by timers of an eighth of a
 * millisecond that it does not make up for once missed, so it fails where it is not given its core.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuSeconds } from "../process-cost.ts";
import type { CaseOptions } from "./case-options.ts";
import { startEtcd, startNoStore, startOurs, type Server } from "./servers.ts";
import { figure, printTable, progress, progressDone, type Cell } from "./table.ts";

const etcdctl = process.env["PILOTHOUSE_ETCDCTL"] ?? "etcdctl";
/** The minute that the tool measures begins about here, and ends after `untilMs`. */
const fromMs = 5000;
const untilMs = 55_000;

export async function perf({ etcd, loads }: CaseOptions): Promise<void> {
  if (spawnSync(etcdctl, ["version"]).status !== 0) {
    process.stdout.write("\nperf: skipped, no etcdctl (PILOTHOUSE_ETCDCTL, or on the PATH)\n");
    return;
  }
  const rows: Cell[][] = [];
  const folder = (name: string): string => mkdtempSync(join(tmpdir(), `bench-${name}-`));
  for (const load of loads) {
    rows.push(await onFresh(load, () => startOurs([], folder("pilothouse"), "any")));
    if (etcd !== undefined) {
      rows.push(await onFresh(load, () => startEtcd(etcd, [], folder("etcd"), "any")));
    }
    rows.push(await onFresh(load, () => startNoStore()));
  }
  progressDone();
  const head = ["load", "server", "result", "writes/s", "slowest s", "stddev s"];
  const more = ["server CPU %", "etcdctl CPU %"];
  printTable("etcdctl check perf, 60 s each on an empty server", [...head, ...more], rows);
}

async function onFresh(load: string, start: () => Promise<Server>): Promise<Cell[]> {
  const server = await start();
  try {
    progress(`etcdctl check perf --load=${load}: ${server.name}, a minute`);
    const { out, serverCpu, toolCpu } = await check(load, server);
    const result = /^PASS$/m.test(out) ? "PASS" : "FAIL";
    return [load, server.name, result, ...figuresOf(out), serverCpu, toolCpu];
  } finally {
    await server.remove();
  }
}

/** As they stand in the tool's lines, whether it is pleased with them or not. */
function figuresOf(out: string): string[] {
  const seen = (pattern: RegExp): string => pattern.exec(out)?.[1] ?? "-";
  const rate = seen(/Throughput.*?([\d.]+) writes\/s/);
  const slowest = seen(/[Ss]lowest request.*?([\d.]+)s/);
  return [rate, slowest, seen(/Stddev.*?([\d.]+)s/)];
}

interface Checked {
  readonly out: string;
  readonly serverCpu: string;
  readonly toolCpu: string;
}

function check(load: string, { port, pid }: Server): Promise<Checked> {
  const args = ["check", "perf", `--load=${load}`, `--endpoints=127.0.0.1:${port}`];
  const tool = spawn(etcdctl, args, { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  for (const pipe of [tool.stdout, tool.stderr]) {
    pipe.on("data", (chunk: Buffer) => (out += chunk.toString("utf8")));
  }
  const shares = [pid, tool.pid].map(cpuShare);
  return new Promise((resolve) =>
    tool.once("close", () => {
      const [serverCpu = "-", toolCpu = "-"] = shares.map((share) => share());
      // A bar of progress is on the same line as the first verdict.
      resolve({ out: out.replaceAll("\r", "\n"), serverCpu, toolCpu });
    }),
  );
}

/** Of one core, over the middle of the minute. */
function cpuShare(pid: number | undefined): () => string {
  let before = Number.NaN;
  let share = Number.NaN;
  setTimeout(() => (before = cpuSeconds(pid)), fromMs).unref();
  setTimeout(() => {
    share = ((cpuSeconds(pid) - before) / (untilMs - fromMs)) * 1e5;
  }, untilMs).unref();
  return () => figure(share);
}
