/**
 * Relays under load, a minute at a time: writers on the plane, checking watchers spread over two relays and
 * a third behind the first; every `killSeconds` one relay is killed (SIGKILL) and started again.
 * Run: npm run soak -- --minutes 60 [--rate 1000] [--watchers 30] [--kill-seconds 60]
 * Ends with 1 on any checksum that differs, any disorder, any watcher that does not end up with the truth.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { CheckingWatcher, totals } from "./checking-watcher.ts";
import { removeDirectory, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const path = "/api/v1/namespaces/default/configmaps";
const objects = 200;
const settleMsMax = 30_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    rate: { type: "string", default: "1000" },
    watchers: { type: "string", default: "30" },
    "kill-seconds": { type: "string", default: "60" },
  },
});
const directory = temporaryDirectory("soak");
const dataDir = join(directory, "data");
const plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
const relays: RunningRelay[] = [];
for (const at of [0, 1, 2]) relays.push(await start(at));
const credentials = relays.map((relay) => credentialsOf(relay.kubeconfig));
const direct = new KubeHttp(credentialsOf(plane.kubeconfig));
for (let at = 0; at < objects; at++) {
  await direct.request("POST", path, { metadata: { name: `o${at}` }, data: { n: "0" } });
}
direct.close();
const watchers = Array.from({ length: Number(values.watchers) }, (_, first) => {
  return new CheckingWatcher(credentials, { path, first, timeoutSeconds: 10 });
});
const minutes = Number(values.minutes);
const endMs = performance.now() + minutes * 60_000;
let written = 0;
const writing = startWriting();
await Promise.all([writing, killInTurn()]);
const wrong = await unsettled();
const sums = totals(watchers);
for (const watcher of watchers) await watcher.stop();
const perSecond = Math.round(written / (minutes * 60));
console.log(JSON.stringify({ minutes, written, perSecond, ...sums, wrong }));
await Promise.all(relays.map((relay) => relay.kill()));
await plane.stop();
removeDirectory(directory);
process.exit(sums.mismatched + sums.disordered + wrong === 0 && sums.sums > 0 ? 0 : 1);

/** In a thread of its own: what the watchers do must not slow it. */
function startWriting(): Promise<void> {
  const { kubeconfig } = plane;
  const workerData = { kubeconfig, path, objects, minutes, rate: Number(values.rate) };
  const worker = new Worker(new URL("relay-writer.ts", import.meta.url), { workerData });
  worker.on("message", (total: number) => (written = total));
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
  const everyMs = Number(values["kill-seconds"]) * 1000;
  for (let at = 0; performance.now() + everyMs < endMs; at = (at + 1) % relays.length) {
    await new Promise((resolve) => setTimeout(resolve, everyMs));
    const relay = relays[at];
    if (relay === undefined) return;
    await relay.kill();
    relays[at] = await start(at, new URL(relay.url).host);
    console.log(`killed relay ${at}: ${JSON.stringify({ written, ...totals(watchers) })}`);
  }
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
