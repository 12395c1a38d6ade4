/** `etcdctl check perf`: etcd's own idea of fast enough, run by its own tool against both. */
import { spawn, spawnSync } from "node:child_process";
import type { CaseOptions } from "./cases.ts";
import { onCore, startEtcd, startOurs, type Server } from "./servers.ts";
import { printTable, progress, progressDone, type Cell } from "./table.ts";

const etcdctl = process.env["PILOTHOUSE_ETCDCTL"] ?? "etcdctl";

export async function perf({ etcd, loads }: CaseOptions): Promise<void> {
  if (spawnSync(etcdctl, ["version"]).status !== 0) {
    process.stdout.write("\nperf: skipped, no etcdctl (PILOTHOUSE_ETCDCTL, or on the PATH)\n");
    return;
  }
  const rows: Cell[][] = [];
  for (const load of loads) {
    rows.push(await onFresh(load, () => startOurs()));
    if (etcd !== undefined) rows.push(await onFresh(load, () => startEtcd(etcd)));
  }
  progressDone();
  const head = ["load", "server", "result", "writes/s", "slowest s", "stddev s"];
  printTable("etcdctl check perf, 60 s each on an empty server", head, rows);
}

async function onFresh(load: string, start: () => Promise<Server>): Promise<Cell[]> {
  const server = await start();
  try {
    progress(`etcdctl check perf --load=${load}: ${server.name}, a minute`);
    const out = await check(load, server.port);
    const seen = (pattern: RegExp): string => pattern.exec(out)?.[1] ?? "-";
    const result = /^PASS$/m.test(out) ? "PASS" : "FAIL";
    const rate = seen(/Throughput.*?([\d.]+) writes\/s/);
    const slowest = seen(/[Ss]lowest request.*?([\d.]+)s/);
    return [load, server.name, result, rate, slowest, seen(/Stddev.*?([\d.]+)s/)];
  } finally {
    await server.remove();
  }
}

function check(load: string, port: number): Promise<string> {
  const args = ["check", "perf", `--load=${load}`, `--endpoints=127.0.0.1:${port}`];
  const tool = spawn(...onCore(1, [etcdctl, ...args]), { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  for (const pipe of [tool.stdout, tool.stderr]) {
    pipe.on("data", (chunk: Buffer) => (out += chunk.toString("utf8")));
  }
  return new Promise((resolve) => tool.once("close", () => resolve(out)));
}
