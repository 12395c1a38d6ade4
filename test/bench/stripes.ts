/** `npm run bench -- stripes`: see `usage`. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EtcdCluster } from "../process/etcd-cluster.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import { freePort } from "../process/stock-apiserver.ts";
import { findHolder, Replica } from "../process/store-replica.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds } from "./process-cost.ts";
import { portOf } from "./replicas/setting.ts";
import type { Sample } from "./store/sample.ts";
import { generate } from "./store/servers.ts";
import { figure, median, printTable, progress, progressDone } from "./store/table.ts";

const usage = `npm run bench -- stripes [--runs N] [--seconds N] [--stripes K] [--clients N] [--value-bytes N] [--sync-ms N]

Durable puts through "pilothouse store", its log in one etcd cluster and in K of them, in turns. Each cluster is one member,
whose every fdatasync takes --sync-ms longer: strace delays the call's return (etcd calls the kernel by itself, so
a preloaded library would not see it). --sync-ms 0 runs without strace.

  --runs N         runs of each figure, the median is shown (5)
  --seconds N      length of one run (3)
  --stripes K      clusters of the striped log (2)
  --clients N      concurrent writers (256)
  --value-bytes N  of one put (16384: 64 puts fill a batch)
  --sync-ms N      (5)

etcd is PILOTHOUSE_ETCD, or on the PATH.
`;

const flags = flagsOf(usage, {
  runs: "5",
  seconds: "3",
  stripes: "2",
  clients: "256",
  "value-bytes": "16384",
  "sync-ms": "5",
});
const program = findPeer("etcd") ?? flags.refuse(noPeer("etcd"));
const syncMs = flags.number("sync-ms", 0);
const seconds = flags.number("seconds");
const clients = flags.number("clients");
const valueBytes = flags.number("value-bytes");
const quota = `--quota-backend-bytes=${8 * 2 ** 30}`;
const asked = 1.8;
const cpuAsked = 1.1;
const load = { kind: "put", clients, keys: 2000, valueBytes, connections: 8, warmSeconds: 1 };

interface Run extends Sample {
  /** Of the store and all members, for each put. */
  readonly cpuUs: number;
}

interface Log {
  readonly clusters: readonly EtcdCluster[];
  readonly replica: Replica;
}

async function main(): Promise<void> {
  if (syncMs > 0 && spawnSync("strace", ["-V"]).status !== 0) flags.refuse("strace is not there");
  const directory = mkdtempSync(join(tmpdir(), "bench-stripes-"));
  const logs: Log[] = [];
  try {
    for (const count of [1, flags.number("stripes")]) logs.push(await openLog(directory, count));
    await compare(logs);
  } finally {
    await Promise.all(logs.map(({ replica }) => replica.close()));
    await Promise.all(logs.flatMap(({ clusters }) => clusters.map((one) => one.close())));
    rmSync(directory, { recursive: true, force: true });
  }
}

async function openLog(directory: string, count: number): Promise<Log> {
  const clusters: EtcdCluster[] = [];
  for (let at = 0; at < count; at++) {
    const cluster = await EtcdCluster.start(program, join(directory, `${count}-${at}`), 1, [quota]);
    if (syncMs > 0) slow(cluster.pids);
    clusters.push(cluster);
  }
  const [first, ...rest] = clusters.map(({ urls }) => urls);
  const more = rest.flatMap((urls) => ["--etcd-servers", urls.join(",")]);
  const replica = new Replica(await freePort(), first ?? [], more);
  await replica.start();
  await findHolder([replica]);
  return { clusters, replica };
}

/** Ends with the member. */
function slow(pids: readonly number[]): void {
  for (const pid of pids) {
    const delay = `inject=fdatasync:delay_exit=${Math.round(syncMs * 1000)}`;
    const args = ["-f", "-q", "-e", "trace=fdatasync", "-e", delay, "-o", "/dev/null", "-p"];
    spawn("strace", [...args, String(pid)], { stdio: "ignore" });
  }
}

async function compare(logs: readonly Log[]): Promise<void> {
  const runs = logs.map((): Run[] => []);
  for (let run = 0; run < flags.number("runs"); run++) {
    for (const [at, log] of logs.entries()) {
      progress(`stripes: run ${run + 1}, ${log.clusters.length} clusters`);
      runs[at]?.push(await put(log));
    }
  }
  progressDone();
  const [one = [], more = []] = runs;
  const ratio = of(more, "perSecond") / of(one, "perSecond");
  const cpu = of(more, "cpuUs") / of(one, "cpuUs");
  const verdicts = [
    ["", "", "", ""],
    [figure(ratio), `>= ${asked}`, figure(cpu), `<= ${cpuAsked}`],
  ];
  printTable(
    `durable puts of ${valueBytes} B by ${clients} clients, each fdatasync ${syncMs} ms longer, median of ${one.length} runs of ${seconds} s`,
    ["stripes", "put/s", "p50 ms", "p99 ms", "CPU us/put, all", "x", "asked", "x CPU", "asked"],
    runs.map((each, at) => [
      `${logs[at]?.clusters.length ?? 0}`,
      ...(["perSecond", "p50Ms", "p99Ms", "cpuUs"] as const).map((field) => of(each, field)),
      ...(verdicts[at] ?? []),
    ]),
  );
}

async function put({ clusters, replica }: Log): Promise<Run> {
  const storePid = replica.store?.child.pid ?? 0;
  const pids = [storePid, ...clusters.flatMap((cluster) => cluster.pids)];
  const before = total(pids);
  const startMs = performance.now();
  const sample = await generate<Sample>("generate.ts", {
    ...load,
    seconds,
    port: portOf(replica.url),
    serverPid: storePid,
  });
  // The generator's start is in it, and its warm-up, at the same rate.
  const loadedSeconds = (performance.now() - startMs) / 1000;
  const puts = sample.perSecond * Math.min(loadedSeconds, seconds + load.warmSeconds);
  return { ...sample, cpuUs: ((total(pids) - before) * 1e6) / puts };
}

function total(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

function of(runs: readonly Run[], field: "perSecond" | "p50Ms" | "p99Ms" | "cpuUs"): number {
  return median(runs.map((run) => run[field]));
}

await main();
