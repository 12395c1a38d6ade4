/**
 * A plane under churn of all kinds, then left alone: what it keeps in memory and on disk is compared with
 * what a fresh start on the same objects takes. See `usage`.
 */
import { join } from "node:path";
import { flagsOf } from "../bench/flags.ts";
import { residentBytes } from "../bench/process-cost.ts";
import { diskBytes, makeFreshDirectory } from "./churn-fresh.ts";
import { kindSamples, type KindSample } from "./churn-kinds.ts";
import {
  faultsOf,
  type Footprint,
  keptOf,
  medianOf,
  megabytes,
  tableHead,
  tableRow,
} from "./churn-report.ts";
import { churnRound, newCounts } from "./churn-round.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";

const usage = `npm run soak -- churn [flags]

  --minutes 60          how long the churn lasts
  --rounds 0            it ends before, after so many rounds; 0: it does not
  --workers 6           namespaces at a time
  --standing 1000       objects of 2.5 KB that are there throughout
  --compact-every 300   seconds of history the plane keeps
  --quiet-seconds 600   how long the plane is left alone before it is judged
  --fresh-seconds 60    how long the fresh process is up before it is looked at
  --sample-seconds 60   how often a line is printed
  --resident-max 1.3    how many times the memory of the fresh process it may hold
  --disk-max 2          the same of its disk
  --snapshots DIR       a heap snapshot of both processes, after they were looked at
  --help                this

Rounds over all kinds against "pilothouse up --nodes 4": namespaces made and deleted with what is in them, pods of
deployments and jobs, events, watches cut in mid-stream, unfinished lists, discovery and schemas, tokens, leases.
Prints by the minute what the plane's /metrics say of memory and disk. Ends with 1 when, after the quiet time, it
holds more memory or disk than so many times what a fresh process on a fresh directory of the same objects does
(medians of half a minute), or when no round came to its end.
`;
/** Half a minute. */
const judgedSamples = 15;
const judgedSampleMs = 2_000;
/** From the end of a plane until all that it printed is here. */
const exitMs = 1_000;
const defaults = {
  minutes: "60",
  rounds: "0",
  workers: "6",
  standing: "1000",
  "compact-every": "300",
  "quiet-seconds": "600",
  "fresh-seconds": "60",
  "sample-seconds": "60",
  "resident-max": "1.3",
  "disk-max": "2",
  snapshots: "",
};
const flags = flagsOf(usage, defaults);
const churnMs = flags.number("minutes") * 60_000;
const quietMs = flags.number("quiet-seconds") * 1000;
const roundsMax = flags.number("rounds", 0) || Number.POSITIVE_INFINITY;
const sampleMs = flags.number("sample-seconds") * 1000;

const snapshots = flags.text("snapshots");
/** It is written while the loop stands still: some 5 s for 100 MB. */
const snapshotMs = 30_000;

const directory = temporaryDirectory("churn");
// The first start of a checkout compiles what it loads, and keeps 10 MB of that: both processes find it compiled.
await (await start(join(directory, "warm"))).stop();
const dataDir = join(directory, "data");
const plane = await start(dataDir);
const http = new KubeHttp(credentialsOf(plane.kubeconfig));
const samples = await kindSamples(http);
const counts = newCounts();
await makeStanding(http);
console.log(tableHead());
let phase: "churn" | "quiet" = "churn";
const startMs = performance.now();
const printing = setInterval(() => void print(), sampleMs);
await print();
await reported(
  plane,
  Promise.all(Array.from({ length: flags.number("workers") }, (_, at) => work(at, samples))),
);
await print();
phase = "quiet";
const { refused, ...done } = counts;
console.log(JSON.stringify({ ...done, refused: Object.fromEntries(refused) }));
http.close();
await sleep(quietMs);
clearInterval(printing);
await print();
const churned = await footprint(plane, dataDir);
await writeSnapshot(plane);
await plane.stop();

const freshDir = join(directory, "fresh");
await makeFreshDirectory(dataDir, freshDir);
const again = await start(freshDir);
await sleep(flags.number("fresh-seconds") * 1000);
await printFresh(again);
const fresh = await footprint(again, freshDir);
await writeSnapshot(again);
await again.stop();
removeDirectory(directory);
console.log(JSON.stringify({ churned: shown(churned), fresh: shown(fresh) }));
const sharesMax = { resident: flags.number("resident-max"), disk: flags.number("disk-max") };
const faults = [...faultsOf(churned, fresh, sharesMax)];
if (counts.rounds === 0) faults.push("no round came to its end");
for (const fault of faults) console.log(`fault: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

function start(at: string): Promise<Running> {
  const every = flags.text("compact-every");
  const args = ["--data-dir", at, "--port", "0", "--nodes", "4", "--compact-every", every];
  if (snapshots === "") return startUp(args);
  const options = `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${snapshots}`;
  return startUp(args, { NODE_OPTIONS: options });
}

/** A plane that ended cuts the connections of the churn: what it printed names the cause. */
async function reported(running: Running, working: Promise<unknown>): Promise<void> {
  try {
    await working;
  } catch (error) {
    await sleep(exitMs);
    throw new Error(`the churn broke off; the plane printed:\n${running.output()}`, {
      cause: error,
    });
  }
}

async function writeSnapshot({ pid }: Running): Promise<void> {
  if (snapshots === "") return;
  process.kill(pid, "SIGUSR2");
  await sleep(snapshotMs);
}

async function makeStanding(direct: KubeHttp): Promise<void> {
  const path = "/api/v1/namespaces/default/configmaps";
  const pad = "x".repeat(2300);
  for (let at = 0; at < flags.number("standing", 0); at++) {
    await direct.request("POST", path, { metadata: { name: `standing-${at}` }, data: { pad } });
  }
}

/** Rounds, one after the other, on one connection each. */
async function work(worker: number, kinds: readonly KindSample[]): Promise<void> {
  const credentials = credentialsOf(plane.kubeconfig);
  const connect = (): KubeHttp => new KubeHttp(credentials);
  for (let at = 0; performance.now() - startMs < churnMs && counts.rounds < roundsMax; at++) {
    const own = connect();
    const deps = { http: own, connect, samples: kinds, counts };
    await churnRound(deps, `${worker}-${at}`);
    own.close();
  }
}

/** On a connection of its own: an idle one would be closed in the meantime. */
async function print(): Promise<void> {
  const minute = (performance.now() - startMs) / 60_000;
  console.log(tableRow(minute, phase, keptOf(await metricsOf(plane))));
}

async function printFresh(running: Running): Promise<void> {
  console.log(tableRow(0, "fresh", keptOf(await metricsOf(running))));
}

async function metricsOf({ kubeconfig }: Running): Promise<string> {
  const asking = new KubeHttp(credentialsOf(kubeconfig));
  const { body } = await asking.request("GET", "/metrics");
  asking.close();
  return String(body["text"]);
}

async function footprint({ pid }: Running, at: string): Promise<Footprint> {
  const resident: number[] = [];
  for (let sample = 0; sample < judgedSamples; sample++) {
    await sleep(judgedSampleMs);
    resident.push(residentBytes(pid));
  }
  return { resident: medianOf(resident), disk: diskBytes(at) };
}

function shown({ resident, disk }: Footprint): object {
  return { residentMb: megabytes(resident), diskMb: megabytes(disk) };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
