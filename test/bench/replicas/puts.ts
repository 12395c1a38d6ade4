/** Durable puts: through our store, and into the etcd that keeps its log, in turns. */
import { cpuSeconds, residentBytes } from "../process-cost.ts";
import type { Sample } from "../store/sample.ts";
import { generate } from "../store/servers.ts";
import { figure, median, printTable, progress, progressDone, type Cell } from "../store/table.ts";
import { portOf, withReplicas, type CaseOptions, type Setting } from "./setting.ts";

const valueBytes = 1024;
const keys = 10_000;
const clientCounts = [64, 256];
const connectionsMax = 8;
const warmSeconds = 2;
const asked = 3;

interface Run extends Sample {
  /** Of all servers that took part. */
  readonly allCpuUs: number;
}

export async function puts(options: CaseOptions): Promise<void> {
  await withReplicas(options, 1, async (setting) => {
    const rows: Cell[][] = [];
    for (const clients of clientCounts) rows.push(...(await sideBySide(setting, clients, options)));
    progressDone();
    printTable(
      `durable puts of ${valueBytes} B over an etcd of three members, median of ${options.runs} runs of ${options.seconds} s`,
      [
        "load",
        "server",
        "put/s",
        "p50 ms",
        "p99 ms",
        "CPU us/put, all servers",
        "RSS MiB, all",
        "x etcd",
        "asked",
      ],
      rows,
    );
  });
}

async function sideBySide(
  setting: Setting,
  clients: number,
  options: CaseOptions,
): Promise<Cell[][]> {
  const ours: Run[] = [];
  const theirs: Run[] = [];
  const holder = await setting.holder();
  const leader = setting.etcd.urls[await setting.etcd.leader()] ?? "";
  const storePid = holder.store?.child.pid ?? 0;
  for (let run = 0; run < options.runs; run++) {
    progress(`puts: ${clients} clients, run ${run + 1} of ${options.runs}`);
    const pids = [...setting.etcd.pids, storePid];
    ours.push(await load(portOf(holder.url), pids, clients, options.seconds));
    theirs.push(await load(portOf(leader), setting.etcd.pids, clients, options.seconds));
  }
  const ratio = medianOf(ours, "perSecond") / medianOf(theirs, "perSecond");
  const allPids = [...setting.etcd.pids, storePid];
  return [
    row(clients, "pilothouse", ours, allPids, [figure(ratio), `>= ${asked}`]),
    row(clients, "etcd", theirs, setting.etcd.pids, ["", ""]),
  ];
}

async function load(
  port: number,
  pids: readonly number[],
  clients: number,
  seconds: number,
): Promise<Run> {
  const connections = Math.min(clients, connectionsMax);
  const where = { port, serverPid: pids.at(-1) ?? 0, connections, warmSeconds };
  const before = totalCpu(pids);
  const startMs = performance.now();
  const sample = await generate<Sample>("generate.ts", {
    kind: "put",
    clients,
    keys,
    valueBytes,
    seconds,
    ...where,
  });
  // The generator's start is in it, and its warm-up, at the same rate.
  const loadedSeconds = (performance.now() - startMs) / 1000;
  const calls = sample.perSecond * Math.min(loadedSeconds, seconds + warmSeconds);
  return { ...sample, allCpuUs: ((totalCpu(pids) - before) * 1e6) / calls };
}

function totalCpu(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

function row(
  clients: number,
  name: string,
  runs: readonly Run[],
  pids: readonly number[],
  rest: readonly Cell[],
): Cell[] {
  const rss = pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / 2 ** 20;
  const cells = (["perSecond", "p50Ms", "p99Ms", "allCpuUs"] as const).map((field) =>
    medianOf(runs, field),
  );
  return [`${clients} clients`, name, ...cells, Math.round(rss), ...rest];
}

function medianOf(runs: readonly Run[], field: keyof Run): number {
  return median(runs.map((run) => run[field]));
}
