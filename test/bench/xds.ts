/** `npm run bench -- xds`: see `usage`. The relay is a process of its own: its CPU is counted there. */
import { setTimeout as sleep } from "node:timers/promises";
import { clusterType, endpointsType } from "#xds/type-urls.ts";
import { flagsOf } from "./flags.ts";
import { peerProcess, RelayHandle, relayProcess } from "./xds/relay-handle.ts";
import { addressOf, type Figures, hotService, nameOf } from "./xds/relay-process.ts";
import { openAll, Subscriber } from "./xds/subscribers.ts";

const usage = `npm run bench -- xds [--subscribers 5000] [--services 10000] [--seconds 10] [--of relay]

Delta streams over real HTTP/2 connections, each with ten services by name, one of them the same for all:
what a change costs a relay when nobody and when everybody named it; 1,000 changes a second; and all
subscribers again at another relay, with the versions that they hold, after theirs was killed.

  --subscribers N   streams, 200 to a connection; one more of a hundred follows all clusters
  --services N      with three endpoints each
  --seconds N       of 1,000 changes a second
  --of WHAT         relay, or to compare, where Go is: linear, snapshot (caches of go-control-plane)

Relays and subscribers share the machine's cores.
`;
const flags = flagsOf(usage, {
  subscribers: "5000",
  services: "10000",
  seconds: "10",
  of: "relay",
});
const count = flags.number("subscribers");
const services = flags.number("services");
const namedEach = 9;
/** Nobody names the last ones. */
const unnamed = 200;

/** When each change was made, by its address; and who waits for how many to hear of one. */
const madeMs = new Map<string, number>();
const latencyMs: number[] = [];
let awaited = { address: "", left: 0, done: (): void => {} };
const anAddress = /10\.(?!255\.)\d+\.\d+\.\d+/g;

function heard(text: string): void {
  const nowMs = performance.now();
  for (const [address] of text.matchAll(anAddress)) {
    const made = madeMs.get(address);
    if (made !== undefined) latencyMs.push(nowMs - made);
    if (address === awaited.address && --awaited.left === 0) awaited.done();
  }
}

let changes = 0;

/** @returns the address that it can be heard by. */
async function change(to: readonly RelayHandle[], names: readonly string[]): Promise<string> {
  const all = names.map((name) => [name, ++changes] as const);
  const nowMs = performance.now();
  for (const [, i] of all) madeMs.set(addressOf(i), nowMs);
  await Promise.all(to.map((relay) => relay.change(all)));
  return addressOf(changes);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** CPU of the relay until everybody heard of one change, and its acknowledgements are read. */
async function changeForAll(relay: RelayHandle): Promise<{ cpuMs: number; lastMs: number }> {
  const before = await relay.figures();
  const next = addressOf(changes + 1);
  const all = new Promise<void>((done) => (awaited = { address: next, left: count, done }));
  const startMs = performance.now();
  await change([relay], [hotService]);
  await all;
  const lastMs = performance.now() - startMs;
  await sleep(100);
  return { cpuMs: (await relay.figures()).cpuMs - before.cpuMs, lastMs };
}

/** A snapshot takes half a second for a change. */
const rounds = flags.text("of") === "snapshot" ? 10 : unnamed;

async function changeForNobody(relay: RelayHandle): Promise<number> {
  const before = await relay.figures();
  for (let i = 0; i < rounds; i++) await change([relay], [`s${services - 1 - i}`]);
  await sleep(200);
  return ((await relay.figures()).cpuMs - before.cpuMs) / rounds;
}

async function load(relay: RelayHandle, seconds: number): Promise<string> {
  latencyMs.length = 0;
  const perTick = 10;
  const before = await relay.figures();
  const startMs = performance.now();
  for (let tick = 0; tick < seconds * 100; tick++) {
    const names = Array.from({ length: perTick }, (_, i) => {
      const at = (tick * perTick + i) * 7919;
      return `s${at % (services - unnamed)}`;
    });
    await change([relay], names);
    const behindMs = startMs + (tick + 1) * 10 - performance.now();
    if (behindMs > 0) await sleep(behindMs);
  }
  const tookMs = performance.now() - startMs;
  await sleep(500);
  const cpuMs = (await relay.figures()).cpuMs - before.cpuMs;
  const rate = Math.round((seconds * 1000 * perTick * 100) / tookMs);
  const [p50, p99] = [quantile(latencyMs, 0.5), quantile(latencyMs, 0.99)];
  return `${rate} changes/s, ${latencyMs.length} deliveries: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${Math.round((100 * cpuMs) / (tookMs + 500))} % of a core`;
}

async function until(relay: RelayHandle, fits: (figures: Figures) => boolean): Promise<Figures> {
  for (;;) {
    const figures = await relay.figures();
    if (fits(figures)) return figures;
    await sleep(5);
  }
}

const of = flags.text("of");
const measured = of === "relay" ? relayProcess() : peerProcess(of);
if (measured === undefined) process.exit(0);
const first = new RelayHandle(measured, services);
await first.start();
const empty = await first.figures();
const subscribers = Array.from({ length: count }, (_, at) => {
  const names = Array.from({ length: namedEach }, (_each, i) => {
    const service = (at * namedEach + i) * 13;
    return nameOf(`s${service % (services - unnamed)}`);
  });
  return new Subscriber(endpointsType, [nameOf(hotService), ...new Set(names)], heard);
});
const followers = Array.from(
  { length: Math.max(1, Math.round(count / 100)) },
  () => new Subscriber(clusterType, ["*"], heard),
);
const everybody = [...subscribers, ...followers];
const names = subscribers.reduce((sum, one) => sum + one.names.length, 0);
const isWhole = (): boolean =>
  subscribers.every((one) => one.versions.size === one.names.length) &&
  followers.every((one) => one.versions.size > services);

const openMs = performance.now();
const letGo = await openAll(everybody, first.port);
while (!isWhole()) await sleep(20);
const opened = await first.figures();
const stateBytes = everybody.reduce((sum, one) => sum + one.bytes, 0);
console.log(
  `${count} streams of ${names} names and ${followers.length} of everything: ${Math.round(performance.now() - openMs)} ms, ${Math.round(opened.cpuMs - empty.cpuMs)} ms CPU, ${(stateBytes / 1e6).toFixed(1)} MB, ${(((opened.residentMb - empty.residentMb) * 1024) / everybody.length).toFixed(1)} KB a stream`,
);

await changeForNobody(first);
const nobody = await changeForNobody(first);
console.log(`a change that nobody named: ${nobody.toFixed(2)} ms CPU`);
const runs = [];
for (let i = 0; i < 8; i++) runs.push(await changeForAll(first));
const best = Math.min(...runs.map(({ cpuMs }) => cpuMs));
const each = ((best - nobody) * 1000) / count;
const lastMs = quantile(
  runs.map((run) => run.lastMs),
  0.5,
);
console.log(
  `a change that all named: ${best.toFixed(1)} ms CPU, ${each.toFixed(1)} us a subscriber, acknowledged; the last heard after ${lastMs.toFixed(0)} ms`,
);
console.log(await load(first, flags.number("seconds")));

if (of !== "relay") {
  first.kill();
  process.exit(0);
}
const second = new RelayHandle(relayProcess(), services);
await second.start();
// The other relay gets the same state at once, and a little more, as a change during the kill would be.
const last = new Map<string, number>();
madeMs.clear();
for (let i = 0; i < services; i++) last.set(`s${i}`, changes + 1 + i);
last.set(hotService, changes + 1 + services);
changes += services + 1;
for (const part of chunks([...last], 1000))
  await Promise.all([first.change(part), second.change(part)]);
await sleep(2000);
await second.change([[`s0`, ++changes]]);
first.kill();
letGo();
for (const one of everybody) one.bytes = 0;
const before = await second.figures();
const killMs = performance.now();
await openAll(everybody, second.port);
await until(second, (now) => now.streams === everybody.length && now.names === names);
await until(second, (now) => now.streams === everybody.length);
const tookMs = performance.now() - killMs;
await sleep(1000);
const after = await second.figures();
const again = everybody.reduce((sum, one) => sum + one.bytes, 0);
console.log(
  `reconnect of all at another relay: ${Math.round(tookMs)} ms, ${Math.round(after.cpuMs - before.cpuMs)} ms CPU, ${again} bytes sent again: ${((100 * again) / stateBytes).toFixed(3)} % of the state`,
);
second.kill();
process.exit(0);

function* chunks<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
