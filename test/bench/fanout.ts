/** `npm run bench -- fanout`: what one core gives to a crowd of watchers; see `usage`. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { contender, dismiss, median, type Window, window } from "./fanout-floor.ts";
import {
  type IdleCost,
  type IdleCrowd,
  measureTls,
  tlsFloor,
  tlsIdle,
  type TlsRate,
} from "./fanout-tls.ts";
import { flagsOf } from "./flags.ts";
import { linesOf, pause, pinned } from "./pinned.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

const usage = `npm run bench -- fanout [--only floor,curve,...] [flags]

How many watch events a second one core gives to a crowd over HTTP/1.1, how late they come, what it costs.
All parts take about half an hour; name those you want:

  floor      as many as can be, held against a C program that does nothing else
  curve      clients x events/s: age of an event when its client reads it, p50 and p99
  stalled    the same with a tenth of the clients never reading
  latest     clients that asked for the latest state only, and more events than could be sent
  nodes      watchers of the pods of one node each: what an event costs, whoever else watches
  idle       memory of 50,000 watches on which nothing happens
  tls        the floor's load over HTTP/2 and TLS, streams x connections
  tls-idle   memory of idle watches over TLS, HTTP/1.1 and HTTP/2, and of node:tls alone

  --clients N     of floor, stalled and tls-idle (5000)
  --seconds N     of each window (3)
  --pairs N       windows of the floor and the relay, runs with and without stalled clients (7)
  --runs N        of every other point; medians are shown (3)
  --query TEXT    appended to the watches' URL, for what clients may opt in to: "&..."
  --tls LIST      streams x connections (2000x20,5000x50)
  --idle LIST     of tls-idle: floor, h1, x25519, h2, and with credentials token (1,100 bytes, as a service
                  account's), large-token (3,500, as a cloud's), certificate, h2-large-token (all)
  --points LIST   clients x events/s [x keys]: the points of the curve

Server and client have a core each (taskset); the client is C. Without a C compiler there is nobody to
count: the benchmark says so and ends.
`;
const flags = flagsOf(usage, {
  clients: "5000",
  seconds: "3",
  pairs: "7",
  runs: "3",
  only: "floor,curve,stalled,latest,nodes,idle,tls,tls-idle",
  query: "",
  tls: "2000x20,5000x50",
  idle: "floor,h1,x25519,token,large-token,certificate,h2,h2-large-token",
  points: "100x100,1000x100,5000x100,10000x100,10000x10,1000x1000",
});
const clients = flags.number("clients");
const seconds = flags.number("seconds");
const pairs = flags.number("pairs");
const runs = flags.number("runs");
const wanted = new Set(flags.list("only"));
const eventBytes = 1024;
const here = dirname(fileURLToPath(import.meta.url));
const path = `/api/v1/configmaps?watch=true&resourceVersion=0${flags.text("query")}`;

/** Kinds of idle watchers over TLS. */
const idleKinds: ReadonlyMap<string, Omit<IdleCrowd, "streams">> = new Map([
  ["h1", {}],
  ["x25519", { curves: "X25519" }],
  ["token", { tokenBytes: 1_100 }],
  ["large-token", { tokenBytes: 3_500 }],
  ["certificate", { byCertificate: true }],
  ["h2", { each: 10 }],
  ["h2-large-token", { each: 10, tokenBytes: 3_500 }],
]);

const curveWidths = [8, 10, 6, 9, 13, 8, 8, 8, 9, 7, 8, 12, 14, 14];
const curveHead = ["clients", "events/s", "keys", "stalled", "deliveries/s"].concat([
  "MB/s",
  "p50 ms",
  "p99 ms",
  "worst ms",
  "CPU %",
  "RSS MB",
  "loop p99 ms",
  "CPU us/event",
  "p99 from-to",
]);

const directory = mkdtempSync(join(tmpdir(), "pilothouse-fanout-"));
try {
  const program = compiled();
  if (program === undefined) console.log("skipped: no C compiler (cc) to make the counting client");
  else await main(program);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function compiled(): string | undefined {
  const out = join(directory, "fanout");
  const source = join(here, "fanout.c");
  const made = spawnSync("cc", ["-O2", "-o", out, source, "-lm"], { stdio: "inherit" });
  return made.status === 0 ? out : undefined;
}

async function main(program: string): Promise<void> {
  console.log(`${cpus()[0]?.model ?? "?"}, ${eventBytes} B events, ${seconds} s each`);
  if (wanted.has("floor")) await floor(program);
  if (wanted.has("curve")) await curve(program);
  if (wanted.has("stalled")) await stalled(program);
  if (wanted.has("latest")) await latest(program);
  if (wanted.has("nodes")) await byNode(program);
  if (wanted.has("idle")) await idle(program);
  if (wanted.has("tls")) await tls();
  if (wanted.has("tls-idle")) await idleOverTls();
}

function row(widths: readonly number[], cells: readonly (string | number)[]): void {
  console.log(cells.map((cell, at) => String(cell).padStart(widths[at] ?? 9)).join(""));
}

async function floor(program: string): Promise<void> {
  console.log(
    `\n${clients} watchers, as many events as can be; medians of ${pairs} windows each, by turns`,
  );
  const widths = [16, 12, 12, 19, 20, 12, 19, 9];
  const perCpu = ["per CPU second: C", "relay", "ratio"];
  row(widths, ["events per write", "C epoll", "relay", "ratio", ...perCpu, "RSS MB"]);
  for (const batch of [16, 1]) {
    const { c, relay, memory } = await alternating(program, batch);
    const wall = side(c, relay, ({ bytesPerSecond }) => bytesPerSecond);
    const cpu = side(c, relay, ({ bytesPerCpuSecond }) => bytesPerCpuSecond);
    row(widths, [batch, ...wall, ...cpu, Math.round(memory / 2 ** 20)]);
  }
}

async function alternating(
  program: string,
  batch: number,
): Promise<{ c: Window[]; relay: Window[]; memory: number }> {
  const block = String(batch * eventBytes);
  const floorServer = pinned(0, program, ["serve", "0", String(clients), block]);
  const port = Number(await linesOf(floorServer)());
  const first = await contender(program, floorServer, { port, clients, path });
  const { child, lines } = relayServer({ clients, batch });
  const second = await contender(program, child, { port: Number(await lines()), clients, path });
  const [c, relay]: [Window[], Window[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    c.push(await window(first));
    relay.push(await window(second));
  }
  const memory = residentBytes(child.pid);
  dismiss(first);
  dismiss(second);
  return { c, relay, memory };
}

/** Deliveries of both, and the median, least and greatest ratio of neighbouring windows. */
function side(
  c: readonly Window[],
  relay: readonly Window[],
  of: (window: Window) => number,
): (string | number)[] {
  const ratios = relay.map((window, at) => of(window) / of(c[at] ?? window));
  const shown = [c, relay].map((windows) => Math.round(median(windows.map(of)) / eventBytes));
  const [low, high] = [Math.min(...ratios).toFixed(2), Math.max(...ratios).toFixed(2)];
  return [...shown, `${median(ratios).toFixed(2)} (${low}-${high})`];
}

async function curve(program: string): Promise<void> {
  console.log("\nage of events when they are read");
  row(curveWidths, curveHead);
  for (const text of flags.list("points")) {
    const [crowd = 0, rate = 0, keys = 1000] = text.split("x").map(Number);
    await curvePoint(program, { clients: crowd, rate, keys, stalled: 0 });
  }
}

/** The same readers with and without a tenth more that never read, by turns, well below saturation. */
async function stalled(program: string): Promise<void> {
  console.log("\na tenth of the clients stalled");
  row(curveWidths, curveHead);
  const point = { rate: 10, keys: 1000, burst: 150 };
  const alone = { ...point, clients: clients * 0.9, stalled: 0 };
  const beside = { ...point, clients, stalled: clients / 10 };
  const [without, beset]: [RelayRate[], RelayRate[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    without.push(await measureRelay(program, alone));
    beset.push(await measureRelay(program, beside));
  }
  curveRow(alone, without);
  curveRow(beside, beset);
  const ratios = beset.map((rate, at) => p99(rate) / p99(without[at] ?? rate));
  const [low, high] = [Math.min(...ratios).toFixed(2), Math.max(...ratios).toFixed(2)];
  const cpu = beset.map((rate, at) => rate.cpu / (without[at]?.cpu ?? rate.cpu));
  console.log(
    `parked at the end: ${beset.map(({ behind }) => behind).join(" ")}; p99 with stalled / without: median ${median(ratios).toFixed(2)} (${low}-${high}); CPU ${median(cpu).toFixed(2)}`,
  );
}

async function latest(program: string): Promise<void> {
  console.log("\nlatest state only: 100 keys");
  row(curveWidths, curveHead);
  const load = { clients: 10_000, rate: 1_000, keys: 100, stalled: 0 };
  await curvePoint(program, { ...load, path: `${path}&latestOnly=true` });
}

/** Each event concerns one watcher, however many there are. */
async function byNode(program: string): Promise<void> {
  console.log("\nwatchers of one node each, 5,000 events/s of pods on as many nodes");
  row(curveWidths, curveHead);
  const query = "watch=true&resourceVersion=0&fieldSelector=spec.nodeName%3Dnode-%d";
  for (const nodes of [100, 1_000, 10_000]) {
    const load = { clients: nodes, rate: 5_000, keys: nodes, nodes, stalled: 0 };
    await curvePoint(program, { ...load, path: `/api/v1/pods?${query}` });
  }
}

async function curvePoint(program: string, load: CurveLoad): Promise<void> {
  const rates: RelayRate[] = [];
  for (let run = 0; run < runs; run++) rates.push(await measureRelay(program, load));
  curveRow(load, rates);
}

/** Medians, each of its own column. */
function curveRow(
  { clients: crowd, rate = 0, keys = 0, stalled: idle }: CurveLoad,
  rates: RelayRate[],
) {
  const middle = (of: (rate: RelayRate) => number): number => median(rates.map(of));
  const ages = [0, 1, 2].map((at) => (middle(({ agesUs }) => agesUs[at] ?? 0) / 1000).toFixed(1));
  const cpu = middle((of) => of.cpu);
  const shown = [middle((of) => of.stamped), middle((of) => of.bytesPerSecond) / 1e6];
  const cost = [cpu * 100, middle((of) => of.memory)].map(Math.round);
  const all = rates.map((of) => p99(of) / 1000);
  const range = `${Math.min(...all).toFixed(0)}-${Math.max(...all).toFixed(0)}`;
  const loop = middle((of) => of.loopMs).toFixed(1);
  const perEvent = ((cpu * 1e6) / rate).toFixed(0);
  const load = [crowd, rate, keys, idle, ...shown.map(Math.round)];
  row(curveWidths, [...load, ...ages, ...cost, loop, perEvent, range]);
}

function p99({ agesUs }: RelayRate): number {
  return agesUs[1] ?? Number.NaN;
}

async function tls(): Promise<void> {
  console.log("\nHTTP/2 over TLS, 16 events a write, as many as can be");
  const widths = [8, 12, 14, 16, 14, 14, 9, 16];
  const head = ["streams", "connections", "deliveries/s", "per CPU second", "relay CPU %"];
  row(widths, [...head, "client CPU %", "RSS MB", "from-to"]);
  for (const text of flags.list("tls")) {
    const [streams = 0, connections = 0] = text.split("x").map(Number);
    const load = { streams, connections, batch: 16, bytes: eventBytes, seconds };
    const rates: TlsRate[] = [];
    for (let run = 0; run < runs; run++) rates.push(await measureTls(directory, path, load));
    const middle = (of: (rate: TlsRate) => number): number => Math.round(median(rates.map(of)));
    const speed = [middle((of) => of.perSecond), middle((of) => of.perSecond / of.cpu)];
    const cpu = [middle((of) => of.cpu * 100), middle((of) => of.clientCpu * 100)];
    const all = rates.map(({ perSecond }) => Math.round(perSecond / 1000));
    const range = `${Math.min(...all)}-${Math.max(...all)} k/s`;
    row(widths, [streams, connections, ...speed, ...cpu, middle((of) => of.memory), range]);
  }
}

async function idleOverTls(): Promise<void> {
  const shown = ({ fresh, collected }: IdleCost): string =>
    `${kilobytes(fresh)} KB each, ${kilobytes(collected)} KB after a collection`;
  const kinds = flags.list("idle");
  if (kinds.includes("floor")) {
    const floorOf = await tlsFloor(directory, path, clients);
    console.log(`\n${clients} idle connections of node:tls alone: ${shown(floorOf)}`);
  }
  for (const kind of kinds.filter((one) => one !== "floor")) {
    const crowd = idleKinds.get(kind);
    if (crowd === undefined) return flags.refuse(`--idle knows no "${kind}"`);
    const cost = await tlsIdle(directory, path, { streams: clients, ...crowd });
    console.log(
      `${clients} idle watchers over TLS, ${kind} ${JSON.stringify(crowd)}: ${shown(cost)}`,
    );
  }
}

/** 50,000, in as many processes as the limit of files of one asks for. */
async function idle(program: string): Promise<void> {
  const limit = Number(spawnSync("sh", ["-c", "ulimit -n"]).stdout.toString());
  const crowd = 50_000;
  const count = Math.ceil(crowd / (limit - 500));
  const each = Math.ceil(crowd / count);
  const servers = Array.from({ length: count }, () => relayServer({ clients: each + 1 }));
  const ports = await Promise.all(servers.map(({ lines }) => lines()));
  const resident = (): number =>
    servers.reduce((sum, { child }) => sum + residentBytes(child.pid), 0);
  const before = resident();
  const readers: ChildProcess[] = [];
  for (const port of ports) {
    const reader = pinned(1, program, ["drain", port, each, 0, 60, path].map(String));
    readers.push(reader);
    await linesOf(reader)();
  }
  await pause(3_000);
  const fresh = (resident() - before) / (each * count);
  for (const { child } of servers) child.kill("SIGUSR1");
  await pause(3_000);
  const collected = (resident() - before) / (each * count);
  for (const child of [...readers, ...servers.map((server) => server.child)]) child.kill("SIGKILL");
  console.log(
    `\n${each * count} idle watchers in ${count} processes: ` +
      `${kilobytes(fresh)} KB each, ${kilobytes(collected)} KB after a collection`,
  );
}

function kilobytes(bytes: number): string {
  return (bytes / 1024).toFixed(1);
}

interface Load {
  readonly clients: number;
  readonly batch?: number;
  readonly rate?: number;
  readonly keys?: number;
  readonly stalled?: number;
  readonly burst?: number;
  readonly nodes?: number;
  /** Of the watches. */
  readonly path?: string;
}

interface Rate {
  readonly bytesPerSecond: number;
  /** Share of a core. */
  readonly cpu: number;
  /** Events read with a stamp, and how old they were then: p50, p99, worst. */
  readonly stamped: number;
  readonly agesUs: readonly number[];
}

type CurveLoad = Load & { readonly stalled: number };
type RelayRate = Rate & {
  readonly memory: number;
  readonly loopMs: number;
  /** Watchers that had not got everything at the end. */
  readonly behind: number;
};

async function measureRelay(program: string, load: Load): Promise<RelayRate> {
  const server = relayServer(load);
  const port = Number(await server.lines());
  const rate = await drained(program, port, load, server.child);
  server.child.kill("SIGTERM");
  const end = JSON.parse(await server.lines()) as Omit<RelayRate, keyof Rate>;
  return { ...rate, ...end };
}

function relayServer(load: Load): { child: ChildProcess; lines: () => Promise<string> } {
  const { stalled: _stalled, path: _path, ...options } = { bytes: eventBytes, ...load };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const script = join(here, "fanout-relay.ts");
  const args = ["--expose-gc", script, ...flags];
  const child = pinned(0, process.execPath, args);
  return { child, lines: linesOf(child) };
}

async function drained(
  program: string,
  port: number,
  load: Load,
  server: ChildProcess,
): Promise<Rate> {
  const args = ["drain", port, load.clients, load.stalled ?? 0, seconds, load.path ?? path].map(
    String,
  );
  const lines = linesOf(pinned(1, program, args));
  await lines();
  const counted = lines();
  // The middle of the client's window, which starts a second after everybody is connected.
  await pause(1_000 + (seconds * 1000) / 4);
  const [before, since] = [cpuSeconds(server.pid), performance.now()];
  await pause((seconds * 1000) / 2);
  const cpu = ((cpuSeconds(server.pid) - before) * 1000) / (performance.now() - since);
  const [bytesPerSecond = 0, stamped = 0, ...agesUs] = (await counted).split(" ").map(Number);
  return { bytesPerSecond, cpu, stamped, agesUs };
}
