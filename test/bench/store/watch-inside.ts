/**
 * Watches of the store itself, no gRPC: `node watch-inside.ts '<options as JSON>'` writes to a store
 * on disk at a rate while watchers of all keys look on, and prints one Sample. Lag counts from when
 * the put was due until the watcher's sink is called, which is after it was durable.
 */
import { AutoCompactor } from "../../../src/commit/store/auto-compact.ts";
import type { FullStore } from "../../../src/commit/store/full-store.ts";
import type { Commit, Key } from "../../../src/commit/store/store.ts";
import { fail } from "./h2-client.ts";
import { insideDeps, onOpenStore } from "./open-inside.ts";
import { Histogram, sleep, Window } from "./sample.ts";

export interface InsideOptions {
  readonly watchers: number;
  readonly eventsPerSecond: number;
  readonly warmSeconds: number;
  readonly seconds: number;
  readonly valueBytes: number;
}

const compactEveryMs = 1000;
const keys = 10_000;
const options = JSON.parse(process.argv[2] ?? "{}") as InsideOptions;
const lags = new Histogram();

/** The generator shares the thread with what is measured, so it makes as little as it can. */
const scratch = new Float64Array(1);
const scratchBytes = new Uint8Array(scratch.buffer);
const keyNames = Array.from(
  { length: keys },
  (_, i) => `bench/${String(i).padStart(6, "0")}` as Key,
);
/** A value belongs to the store until its put is answered; at most this many may wait. */
const valuesMax = 2 ** 17;
const allValues = new Uint8Array(valuesMax * options.valueBytes);
const values = Array.from({ length: valuesMax }, (_, i) =>
  allValues.subarray(i * options.valueBytes, (i + 1) * options.valueBytes),
);

await onOpenStore("inside", async (store) => {
  const compactor = new AutoCompactor({ ...insideDeps, store }, { intervalMs: compactEveryMs });
  compactor.start();
  const sinks = Array.from({ length: options.watchers }, () => watch(store));
  await write(store, options.warmSeconds);
  lags.clear();
  const window = new Window(process.pid);
  const count = await write(store, options.seconds);
  const sample = window.end(lags);
  const due = count + Math.ceil(options.warmSeconds * options.eventsPerSecond);
  if (sinks.some((seen) => seen() < due)) fail(new Error("a watcher missed an event"));
  process.stdout.write(`${JSON.stringify(sample)}\n`);
  compactor.stop();
});

function watch(store: FullStore): () => number {
  let seen = 0;
  let last = 0;
  const deliver = (commits: readonly Commit[]): boolean => {
    const nowMs = performance.now();
    for (const { revision, events } of commits) {
      if (revision <= last) fail(new Error(`revision ${revision} after ${last}`));
      last = revision;
      for (const event of events) {
        seen++;
        if (event.kind === "put") lags.add(nowMs - dueOf(event.kv.value));
      }
    }
    return true;
  };
  const compacted = (): void => fail(new Error("a watcher fell behind compaction"));
  const all = { start: "\0" as Key, end: "\u00ff" as Key };
  store.watch(all, store.commitRevision, { deliver, compacted });
  return () => seen;
}

function dueOf(value: Uint8Array): number {
  for (let i = 0; i < 8; i++) scratchBytes[i] = value[i] as number;
  return scratch[0] as number;
}

/** @returns the events made, all of them durable. */
async function write(store: FullStore, seconds: number): Promise<number> {
  const startMs = performance.now();
  const count = Math.ceil(seconds * options.eventsPerSecond);
  let waiting = 0;
  const settled = (): void => {
    waiting--;
  };
  for (let due = 0; due < count;) {
    const until = ((performance.now() - startMs) / 1000) * options.eventsPerSecond;
    for (; due < Math.min(until, count) && waiting < valuesMax; due++) {
      const value = values[due % valuesMax] as Uint8Array;
      scratch[0] = startMs + (due * 1000) / options.eventsPerSecond;
      value.set(scratchBytes);
      waiting++;
      void store.put(keyNames[due % keys] as Key, value, {}).then(settled);
    }
    await sleep(1);
  }
  while (waiting > 0) await sleep(1);
  return count;
}
