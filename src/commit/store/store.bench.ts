/**
 * Measures durable puts per second and the time to open, on the host's disk.
 *
 *   node --expose-gc src/commit/store/store.bench.ts [directory]
 *
 * Prints one line per case. The directory is created and removed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { OpenedStore } from "./full-store.ts";
import { openStore } from "./open.ts";
import { recommendedOptions } from "./options.ts";
import type { Key } from "./store.ts";

const valueBytes = 2500;
const deps = {
  clock: new NodeClock(),
  disk: new NodeDisk(),
  log: silentLog,
  random: new NodeRandom(),
};

function open(directory: string): Promise<OpenedStore> {
  return openStore(deps, {
    ...recommendedOptions,
    checkpointLogBytes: 1,
    engine: "local",
    directory,
  });
}

async function withStore(f: (directory: string) => Promise<void>): Promise<void> {
  const parent = process.argv[2] ?? tmpdir();
  const directory = await mkdtemp(join(parent, "pilothouse-bench-"));
  try {
    await f(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function writer(
  store: OpenedStore,
  id: number,
  count: number,
  latencies: number[],
): Promise<void> {
  const value = new Uint8Array(valueBytes).fill(65 + (id % 26));
  for (let i = 0; i < count; i++) {
    const startMs = performance.now();
    await store.put(`/registry/pods/bench/pod-${id}-${i % 500}` as Key, value, {});
    latencies.push(performance.now() - startMs);
  }
}

async function putRate(directory: string, writers: number, total: number): Promise<void> {
  const store = await open(directory);
  const latencies: number[] = [];
  await writer(store, 0, 200, []);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: writers }, (_, id) => writer(store, id, total / writers, latencies)),
  );
  const seconds = (performance.now() - startMs) / 1000;
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const at = (part: number): string =>
    (latencies[Math.floor(latencies.length * part)] ?? 0).toFixed(2);
  const { batches } = store.stats().commits;
  console.log(
    `${writers} writers: ${Math.round(total / seconds)} puts/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ` +
      `${Math.round(total / batches)} a batch, ${((used.user + used.system) / total).toFixed(1)} us CPU each`,
  );
  await store.close();
}

/** Bytes in use after garbage collection; needs --expose-gc. */
async function settledMemory(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function openTime(directory: string, keys: number): Promise<void> {
  const store = await open(directory);
  const value = new Uint8Array(valueBytes).fill(65);
  await Promise.all(
    Array.from({ length: keys }, (_, i) =>
      store.put(`/registry/pods/bench/pod-${i}` as Key, value, {}),
    ),
  );
  await store.compact(store.commitRevision);
  while (store.stats().engine.checkpointRevision === 0) await new Promise((r) => setTimeout(r, 20));
  await store.close();
  const before = await settledMemory();
  const startMs = performance.now();
  const again = await open(directory);
  const ms = performance.now() - startMs;
  const held = (await settledMemory()) - before;
  const perKey = (held - keys * valueBytes) / keys;
  console.log(
    `open of ${keys} keys x ${valueBytes} B: ${ms.toFixed(0)} ms, ${again.stats().keys} keys, ` +
      `memory ${(held / keys / valueBytes).toFixed(3)} x bytes = value + ${perKey.toFixed(0)} B a key`,
  );
  await again.close();
}

await withStore((directory) => putRate(directory, 1, 10_000));
await withStore((directory) => putRate(directory, 16, 64_000));
await withStore((directory) => putRate(directory, 64, 200_000));
await withStore((directory) => putRate(directory, 256, 200_000));
await withStore((directory) => openTime(directory, 50_000));
