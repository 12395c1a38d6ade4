/**
 * A million keys: memory, the time to serve again, what compaction and checkpoints do to puts, and a
 * list of all of them as a stream. A real etcd is measured beside it where that takes no minutes.
 */
import { readdirSync } from "node:fs";
import { EtcdClient } from "../../../src/commit/etcd/client.ts";
import { fill, valueBytes } from "./case-calls.ts";
import type { CaseOptions } from "./case-options.ts";
import { generate, loadOn, startEtcd, startOurs, type Server } from "./servers.ts";
import { rssMiB, sleep, type Sample } from "./sample.ts";
import type { StreamSample } from "./stream-load.ts";
import { figure, median, printTable, progress, progressDone, type Cell } from "./table.ts";

const keys = 1_000_000;
const rssMiBMax = 1800;
const restartSecondsMax = 5;
const p99FactorMax = 2;
const putsPerSecond = 5000;
const churnSeconds = 3;
/** A client that stops reading for so long, halfway, must cost no memory. */
const pauseMs = 1000;
const streamGrowthMiBMax = 64;

type Start = (directory?: string) => Promise<Server>;

export async function size({ etcd, runs }: CaseOptions): Promise<void> {
  const ours = await measure("pilothouse", runs, (directory) => startOurs([], directory));
  const theirs =
    etcd === undefined
      ? undefined
      : await measure("etcd", runs, (directory) => startEtcd(etcd, [], directory));
  progressDone();
  const rows = ours.map((row): Cell[] => {
    const etcdValue = theirs?.find(({ what }) => what === row.what)?.value;
    const verdict = row.asked === undefined ? "" : row.value < row.asked ? "met" : "short";
    const asked = row.asked === undefined ? "" : `< ${row.asked}`;
    return [row.what, row.unit, row.value, etcdValue ?? "-", asked, verdict, row.runs ?? ""];
  });
  const title = `${keys.toLocaleString("en-US")} keys of ${valueBytes} B, then ${putsPerSecond} puts/s`;
  printTable(title, ["what", "unit", "ours", "etcd", "asked of ours", "verdict", "runs"], rows);
}

interface Row {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly asked?: number;
  /** Those that the value is the median of. */
  readonly runs?: string;
}

async function measure(name: string, runs: number, start: Start): Promise<Row[]> {
  let server = await start();
  const { directory } = server;
  try {
    const filledMs = performance.now();
    await fill(server, keys);
    const fillSeconds = (performance.now() - filledMs) / 1000;
    const filledMiB = rssMiB(server.pid);
    const streamed = name === "pilothouse" ? await stream(server) : [];
    const churned = await churn(server, runs);
    progress(`${name}: killing it, starting it again`);
    await server.stop("SIGKILL");
    server = await start(directory);
    const restart = server.readyMs / 1000;
    const afterMiB = rssMiB(server.pid);
    return [
      { what: "filled, 8 clients, 50 puts a txn", unit: "s", value: fillSeconds },
      { what: "RSS once filled", unit: "MiB", value: filledMiB },
      ...churned,
      { what: "kill -9 to serving again", unit: "s", value: restart, asked: restartSecondsMax },
      { what: "RSS after the restart", unit: "MiB", value: afterMiB, asked: rssMiBMax },
      ...streamed,
    ];
  } finally {
    await server.remove();
  }
}

/** A list of everything in chunks, to a client that pauses: neither may show in the memory. */
async function stream(server: Server): Promise<Row[]> {
  progress(`${server.name}: streaming all keys`);
  const where = { port: server.port, serverPid: server.pid };
  const { seconds, mib, rssBeforeMiB, rssPeakMiB } = await generate<StreamSample>(
    "stream-load.ts",
    { ...where, pauseMs },
  );
  const growth = rssPeakMiB - rssBeforeMiB;
  return [
    { what: `RangeStream of ${mib} MiB, ${pauseMs} ms of it paused`, unit: "s", value: seconds },
    { what: "RSS grown by it at most", unit: "MiB", value: growth, asked: streamGrowthMiBMax },
  ];
}

/**
 * The same pace of puts without and with a compaction, by turns; and beside the checkpoint that the first
 * one brings, for as long as it takes.
 */
async function churn(server: Server, runs: number): Promise<Row[]> {
  const quiet: Sample[] = [];
  const compacting: Sample[] = [];
  const beside: Sample[] = [];
  await paced(server);
  for (let run = 0; run < runs; run++) {
    progress(`${server.name}: puts, then puts while compacting, ${run + 1} of ${runs}`);
    quiet.push(await paced(server));
    const [sample] = await Promise.all([paced(server), compactLater(server)]);
    compacting.push(sample);
    while (checkpointing(server) && beside.length < runs) beside.push(await paced(server));
    while (checkpointing(server)) await sleep(100);
  }
  const rss = Math.max(...[...compacting, ...beside].map((sample) => sample.rssMiB));
  return [
    ...churnRows(quiet, compacting, "with a compaction in the window"),
    ...(beside.length === 0 ? [] : churnRows(quiet, beside, "beside a checkpoint").slice(1)),
    { what: "RSS with compaction on, highest", unit: "MiB", value: rss, asked: rssMiBMax },
  ];
}

function churnRows(quiet: readonly Sample[], others: readonly Sample[], how: string): Row[] {
  const p99 = (samples: readonly Sample[]): number => median(samples.map(({ p99Ms }) => p99Ms));
  const all = (samples: readonly Sample[]): string =>
    samples.map(({ p99Ms }) => figure(p99Ms)).join(", ");
  const max = median(others.map(({ maxMs }) => maxMs));
  const factor = p99(others) / p99(quiet);
  return [
    { what: "put p99", unit: "ms", value: p99(quiet), runs: all(quiet) },
    { what: `put p99 ${how}`, unit: "ms", value: p99(others), runs: all(others) },
    { what: `put p99 ${how}, over without`, unit: "x", value: factor, asked: p99FactorMax },
    { what: `slowest put ${how}`, unit: "ms", value: max },
  ];
}

/** Ours writes it under a name that ends so, in the background. */
function checkpointing({ directory }: Server): boolean {
  return readdirSync(directory).some((name) => name.endsWith(".tmp"));
}

function paced(server: Server): Promise<Sample> {
  const load = { kind: "put", clients: 8, keys: 10_000, valueBytes } as const;
  return loadOn(server, { ...load, seconds: churnSeconds, perSecond: putsPerSecond });
}

/** In the middle of the window, up to the head, as kube-apiserver does every five minutes. */
async function compactLater(server: Server): Promise<void> {
  await sleep((0.5 + churnSeconds / 3) * 1000);
  const client = new EtcdClient(`http://127.0.0.1:${server.port}`);
  const { header } = await client.range({ key: "none" });
  await client.compact(header?.revision ?? 0);
  client.close();
}
