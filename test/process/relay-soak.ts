/**
 * Relays under load: writers on the plane, checking watchers spread over two relays and a third behind the
 * first; every `killSeconds` one relay is killed (SIGKILL) and started again. See `usage`.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { flagsOf } from "../bench/flags.ts";
import { residentBytes } from "../bench/process-cost.ts";
import { CheckingWatcher, totals } from "./checking-watcher.ts";
import { removeDirectory, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";
import type { WriterReport } from "./relay-writer.ts";
import { Ages, judgeMemory, megabytes, type MemorySample } from "./soak-report.ts";

const usage = `npm run soak -- [flags]

  --minutes 60        how long
  --rate 1000         writes a second to the plane, each an event
  --watchers 30       checking watchers, spread over the relays
  --kill-seconds 60   a relay is killed so often, in turn
  --help              this

Tells each minute, and once at the end, as JSON: what was written and refused, what watchers were told, checksums
compared and those that differed, the p99 age of events by relay (resumes included), memory by process.
Ends with 1 on a checksum that differs, an older event after a newer one, a watcher that does not come to hold
what the plane holds, a refused write, under nine tenths of the rate, or memory that grows without bound
(runs of 40 minutes and more; the last quarter beside the second).
`;
const path = "/api/v1/namespaces/default/configmaps";
/** A multiple of the writers (64), so each object has one: two at once could refuse each other. */
const objects = 192;
const settleMsMax = 30_000;
const minuteMs = 60_000;
/** Of the rate that was asked for: the soak is of that rate or it is none. */
const rateShareMin = 0.9;

const defaults = { minutes: "60", rate: "1000", watchers: "30", "kill-seconds": "60" };
const flags = flagsOf(usage, defaults);
const minutes = flags.number("minutes");
const rate = flags.number("rate");
const killMs = flags.number("kill-seconds") * 1000;
const watcherCount = flags.number("watchers");

const directory = temporaryDirectory("soak");
const dataDir = join(directory, "data");
const plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
const relays: RunningRelay[] = [];
for (const at of [0, 1, 2]) relays.push(await start(at));
const credentials = relays.map((relay) => credentialsOf(relay.kubeconfig));
await makeObjects();
const ages = relays.map(() => new Ages());
const watchers = Array.from({ length: watcherCount }, (_, first) => {
  const onAge = (relay: number, ageMs: number): void => ages[relay]?.add(ageMs);
  return new CheckingWatcher(credentials, { path, first, timeoutSeconds: 10, onAge });
});
const startMs = performance.now();
const endMs = startMs + minutes * minuteMs;
let report: WriterReport = { written: 0, writesRefused: 0 };
let kills = 0;
const memory: Record<"plane" | "relays", MemorySample[]> = { plane: [], relays: [] };
let before = { atMs: startMs, written: 0 };
const progress = setInterval(tellProgress, minuteMs);
await Promise.all([writing(), killInTurn()]);
clearInterval(progress);
tellProgress();
const wrong = await unsettled();
const sums = totals(watchers);
for (const watcher of watchers) await watcher.stop();
const verdicts = {
  plane: judgeMemory(memory.plane, minutes),
  relays: judgeMemory(memory.relays, minutes),
};
const perSecond = Math.round(report.written / (minutes * 60));
console.log(JSON.stringify({ minutes, perSecond, kills, ...report, ...sums, wrong, ...verdicts }));
await Promise.all(relays.map((relay) => relay.kill()));
await plane.stop();
removeDirectory(directory);
const faults = faultsFound();
for (const fault of faults) console.log(`fault: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

function faultsFound(): string[] {
  const found: string[] = [];
  if (sums.sums === 0) found.push("no checksum was compared");
  if (sums.mismatched > 0) found.push(`${sums.mismatched} checksums differ`);
  if (sums.disordered > 0) found.push(`${sums.disordered} events came after newer ones`);
  if (wrong > 0) found.push(`${wrong} watchers do not hold what the plane holds`);
  if (report.writesRefused > 0) found.push(`${report.writesRefused} writes were refused`);
  if (perSecond < rate * rateShareMin) found.push(`${perSecond} writes a second of ${rate}`);
  for (const [who, { kind }] of Object.entries(verdicts)) {
    if (kind === "growing") found.push(`memory of ${who} grows`);
  }
  return found;
}

async function makeObjects(): Promise<void> {
  const direct = new KubeHttp(credentialsOf(plane.kubeconfig));
  for (let at = 0; at < objects; at++) {
    await direct.request("POST", path, { metadata: { name: `o${at}` }, data: { n: "0" } });
  }
  direct.close();
}

/** In a thread of its own: what the watchers do must not slow it. */
function writing(): Promise<void> {
  const { kubeconfig } = plane;
  const workerData = { kubeconfig, path, objects, minutes, rate };
  const worker = new Worker(new URL("relay-writer.ts", import.meta.url), { workerData });
  worker.on("message", (said: WriterReport) => (report = said));
  return new Promise((resolve, reject) => {
    worker.on("error", reject);
    worker.on("exit", () => resolve());
  });
}

/** The third relay's upstream is the first. */
function start(at: number, listen = "127.0.0.1:0"): Promise<RunningRelay> {
  const kubeconfig = (at === 2 ? relays[0]?.kubeconfig : undefined) ?? plane.kubeconfig;
  const args = ["--resources", "configmaps", "--listen", listen];
  return startRelay({ kubeconfig, directory, name: `relay${at}`, pki: join(dataDir, "pki"), args });
}

async function killInTurn(): Promise<void> {
  for (let dueMs = startMs + killMs; dueMs < endMs; dueMs += killMs) {
    await new Promise((resolve) => setTimeout(resolve, dueMs - performance.now()));
    const at = kills % relays.length;
    const relay = relays[at];
    if (relay === undefined) return;
    noteMemory();
    await relay.kill();
    relays[at] = await start(at, new URL(relay.url).host);
    kills++;
  }
}

/** Of relays the largest: each lives for a few minutes only, and is looked at once more before it is killed. */
function noteMemory(): void {
  const minute = (performance.now() - startMs) / minuteMs;
  const note = (samples: MemorySample[], bytes: number): void => {
    if (!Number.isNaN(bytes)) samples.push({ minute, bytes });
  };
  note(memory.plane, residentBytes(plane.pid));
  note(memory.relays, Math.max(...relays.map(({ pid }) => residentBytes(pid))));
}

function tellProgress(): void {
  noteMemory();
  const nowMs = performance.now();
  const perSecond = Math.round(((report.written - before.written) * 1000) / (nowMs - before.atMs));
  before = { atMs: nowMs, written: report.written };
  const line = {
    minute: Math.round((nowMs - startMs) / minuteMs),
    ...report,
    perSecond,
    kills,
    ...totals(watchers),
    ageP99Ms: ages.map((each) => each.take(0.99) ?? null),
    residentMb: {
      plane: megabytes(residentBytes(plane.pid)),
      relays: relays.map(({ pid }) => megabytes(residentBytes(pid))),
      soak: megabytes(residentBytes(process.pid)),
    },
  };
  console.log(JSON.stringify(line));
}

/** Watchers that do not come to hold what the plane holds. */
async function unsettled(): Promise<number> {
  const lateMs = performance.now() + settleMsMax;
  // The one of the start has been silent for so long that the plane closed it.
  const direct = new KubeHttp(credentialsOf(plane.kubeconfig));
  for (;;) {
    const { body } = await direct.request("GET", path);
    const truth = new Map(
      ((body["items"] ?? []) as readonly (typeof body)[]).map(({ metadata }) => [
        `default/${String(metadata?.["name"])}`,
        String(metadata?.["resourceVersion"]),
      ]),
    );
    const wrong = watchers.filter(
      ({ copy }) =>
        copy.size !== truth.size ||
        [...copy].some(([key, { revision }]) => truth.get(key) !== revision),
    );
    if (wrong.length === 0 || performance.now() > lateMs) {
      direct.close();
      return wrong.length;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
