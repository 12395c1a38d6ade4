/**
 * Memory of the store itself, no gRPC: `node churn-inside.ts '<options as JSON>'` fills a store on disk,
 * then writes all its keys again and again, as fast as it can, with a compaction every two seconds and
 * the checkpoints they bring. Prints one ChurnSample.
 */
import { readdirSync, readFileSync } from "node:fs";
import { countOffHeapWithHeap } from "../../../src/core/platform/node/heap.ts";
import type { FullStore } from "../../../src/commit/store/full-store.ts";
import type { Key } from "../../../src/commit/store/store.ts";
import { onOpenStore } from "./open-inside.ts";
import { rssMiB } from "./sample.ts";

export interface ChurnOptions {
  readonly keys: number;
  readonly valueBytes: number;
  readonly writers: number;
  readonly seconds: number;
}

export interface ChurnSample {
  readonly filledMiB: number;
  /** The most there was at any time, by the kernel's own mark. */
  readonly highestMiB: number;
  /** The most that slabs held: what is above it is keys, tables and garbage. */
  readonly slabsMiB: number;
  readonly putsPerSecond: number;
  /** Part of the time in which a checkpoint was under way. */
  readonly checkpointing: number;
}

const compactEveryMs = 2000;
/** Prime to the count of keys: every key, in no order. */
const step = 7919;
const options = JSON.parse(process.argv[2] ?? "{}") as ChurnOptions;
const value = new Uint8Array(options.valueBytes).fill(107);
let next = 0;

countOffHeapWithHeap();
await onOpenStore("churn", async (store, directory) => {
  await write(store, () => next < options.keys);
  const filledMiB = rssMiB(process.pid);
  const sample = await churn(store, directory);
  process.stdout.write(`${JSON.stringify({ filledMiB, ...sample })}\n`);
});

async function churn(store: FullStore, directory: string): Promise<Omit<ChurnSample, "filledMiB">> {
  const startMs = performance.now();
  const before = next;
  let [looks, seen, slabBytes] = [0, 0, 0];
  const look = setInterval(() => {
    looks++;
    slabBytes = Math.max(slabBytes, store.stats().slabHeldBytes);
    if (readdirSync(directory).some((name) => name.endsWith(".tmp"))) seen++;
  }, 100);
  const compact = setInterval(() => void store.compact(store.commitRevision), compactEveryMs);
  await write(store, () => performance.now() - startMs < options.seconds * 1000);
  clearInterval(look);
  clearInterval(compact);
  const seconds = (performance.now() - startMs) / 1000;
  const highest = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return {
    highestMiB: Number(highest) / 1024,
    slabsMiB: slabBytes / 2 ** 20,
    putsPerSecond: (next - before) / seconds,
    checkpointing: seen / Math.max(1, looks),
  };
}

async function write(store: FullStore, more: () => boolean): Promise<void> {
  const one = async (): Promise<void> => {
    while (more()) {
      const key = `bench/kept/${String((next++ * step) % options.keys).padStart(8, "0")}` as Key;
      const { kind } = await store.put(key, value, {});
      if (kind !== "committed") throw new Error(`a put was answered ${kind}`);
    }
  };
  await Promise.all(Array.from({ length: options.writers }, one));
}
