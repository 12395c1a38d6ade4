/** What goes on behind the writes: its share of the loop, its order, and what a checkpoint reads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "#platform/clock.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { addCopiedPut } from "./copied-put.ts";
import type { FullStore } from "./full-store.ts";
import type { CheckpointSource, Engine, PossibleCheckpoint, ReplaySink } from "./engines/engine.ts";
import { MemoryEngine, MemoryLog } from "./engines/memory.ts";
import { Leases } from "./leases.ts";
import { Maintenance } from "./maintenance.ts";
import { Mvcc } from "./mvcc.ts";
import { openStoreOn } from "./open.ts";
import { RecordKind, RecordReader } from "./record.ts";
import { Slabs } from "./slabs.ts";
import type { LeaseId, Revision } from "./store.ts";
import { bytes, key, newWorld, plain, smallOptions } from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";

/** An engine whose checkpoints advance chunk by chunk, on command. */
class SteppedEngine extends MemoryEngine {
  wanted = false;
  possible: PossibleCheckpoint | undefined;
  source: CheckpointSource | undefined;
  readonly chunks: Uint8Array[] = [];
  #done: (() => void) | undefined;

  override wantsCheckpoint(possible: PossibleCheckpoint): boolean {
    this.possible = possible;
    return this.wanted;
  }

  override checkpoint(source: CheckpointSource): Promise<void> {
    assert.equal(this.source, undefined, "two checkpoints at once");
    this.source = source;
    return new Promise((resolve) => (this.#done = resolve));
  }

  /** @returns whether there was a chunk. */
  step(): boolean {
    const chunk = this.source?.next();
    if (chunk !== undefined) this.chunks.push(chunk.slice());
    return chunk !== undefined;
  }

  finish(): void {
    this.source = undefined;
    this.wanted = false;
    this.#done?.();
  }
}

function history(revisions: number): Mvcc {
  const mvcc = new Mvcc(new Slabs(4096), 1);
  for (let revision = 2; revision <= revisions; revision++) {
    mvcc.log.appendOne(revision, mvcc.addDelete(`k${revision % 997}`, revision));
  }
  mvcc.commit(revisions);
  return mvcc;
}

function maintenanceOf(mvcc: Mvcc, clock: Clock, engine: Engine): Maintenance {
  const leases = new Leases(clock);
  const settled = (): Promise<void> => Promise.resolve();
  return new Maintenance({ clock, log: silentLog, engine, mvcc, leases, settled });
}

/** Fires the timer of the next slice: there is never more than one. */
function fireOnly(clock: FakeClock): void {
  assert.deepEqual(clock.armed(), ["store.compact"]);
  clock.fire("store.compact");
}

function steppedEngine(): SteppedEngine {
  return new SteppedEngine(new MemoryLog("one", "all"));
}

void test("a slice ends when its time is up, and the loop is left alone for twice as long", () => {
  const mvcc = history(20_000);
  const clock = new FakeClock({ readMs: 0.1 });
  const engine = steppedEngine();
  const maintenance = maintenanceOf(mvcc, clock, engine);
  mvcc.compact(20_000);
  maintenance.wake();
  let slices = 1;
  for (let before = 1; clock.nextMs() !== undefined; slices++) {
    const steps = (mvcc.pruning.revision - before) / 128;
    before = mvcc.pruning.revision;
    const restMs = clock.nextMs() ?? Number.NaN;
    fireOnly(clock);
    // Each step is one look at the clock, and so took 0.1 ms.
    assert.ok(Math.abs(restMs - 2 * steps * 0.1) < 1e-6, `${steps} steps, ${restMs} ms of rest`);
    assert.ok(steps * 0.1 < 0.25 + 0.11, `${steps} steps in a slice`);
  }
  assert.equal(mvcc.pruning.revision, 20_000);
  assert.ok(slices > 20);
});

void test("under a clock that stands a slice still ends", () => {
  const mvcc = history(40_000);
  const clock = new FakeClock({ readMs: 0 });
  const maintenance = maintenanceOf(mvcc, clock, steppedEngine());
  mvcc.compact(40_000);
  maintenance.wake();
  assert.ok(mvcc.pruning.revision < 40_000);
  assert.notEqual(clock.nextMs(), undefined);
});

for (const [rewrites, quiet] of [
  [40, true],
  [100, true],
  [180, true],
  [300, false],
] as const) {
  void test(`${rewrites} of 1,600 objects written again are ${quiet ? "a quiet time" : "a busy time"}`, () => {
    const mvcc = new Mvcc(new Slabs(2 ** 20), 0);
    mvcc.rebase(1);
    const value = new Uint8Array(10_000);
    let revision = 1;
    const put = (name: string): void => {
      revision++;
      const made = { createRevision: revision as Revision, version: 1, lease: 0n as LeaseId };
      mvcc.log.appendOne(revision, addCopiedPut(mvcc, key(name), revision, { value, ...made }));
    };
    for (let n = 0; n < 1600; n++) put(`k${n}`);
    mvcc.commit(revision);
    mvcc.compact(revision);
    for (let n = 0; n < rewrites; n++) put(`k${n}`);
    mvcc.commit(revision);
    const clock = new FakeClock({ readMs: 0.1 });
    const engine = steppedEngine();
    maintenanceOf(mvcc, clock, engine).wake();
    while (clock.nextMs() !== undefined) fireOnly(clock);
    assert.equal(engine.possible?.quiet, quiet);
  });
}

void test("a checkpoint begins only when all is pruned, one at a time, and a close ends the slices", async () => {
  const mvcc = history(20_000);
  const clock = new FakeClock({ readMs: 0.1 });
  const engine = steppedEngine();
  const maintenance = maintenanceOf(mvcc, clock, engine);
  engine.wanted = true;
  mvcc.compact(10_000);
  maintenance.wake();
  while (clock.nextMs() !== undefined) {
    assert.equal(engine.source, undefined);
    fireOnly(clock);
  }
  await Promise.resolve();
  assert.equal(engine.source?.revision, 10_000);
  mvcc.compact(20_000);
  maintenance.wake();
  const closed = maintenance.close();
  assert.equal(clock.nextMs(), undefined);
  const prunedRevision = mvcc.pruning.revision;
  assert.ok(engine.source.hurried.aborted);
  engine.finish();
  await closed;
  assert.equal(mvcc.pruning.revision, prunedRevision);
  assert.equal(clock.nextMs(), undefined);
});

void test("history goes on to be forgotten while a checkpoint is under way, but not what a snapshot reads", () => {
  const mvcc = history(3000);
  const clock = new FakeClock({ readMs: 0.1 });
  const engine = steppedEngine();
  const maintenance = maintenanceOf(mvcc, clock, engine);
  engine.wanted = true;
  const settle = (): void => {
    while (clock.nextMs() !== undefined) fireOnly(clock);
  };
  mvcc.compact(1000);
  maintenance.wake();
  settle();
  mvcc.compact(2000);
  const pin = maintenance.pin(1500);
  maintenance.wake();
  settle();
  assert.equal(mvcc.pruning.revision, 1500);
  maintenance.unpin(pin);
  settle();
  assert.equal(mvcc.pruning.revision, 2000);
});

const keys = 300;
const value = "x".repeat(3000);

async function change(store: FullStore, world: World, i: number): Promise<void> {
  const name = key(`k${String(world.random.below(keys * 1.2)).padStart(4, "0")}`);
  const choice = world.random.below(4);
  if (choice === 0) await store.delete(name, {});
  else if (choice === 1) {
    await store.transact((transaction) => {
      transaction.put(name, bytes(`t${i}`), 0n as LeaseId);
      transaction.delete(name);
      if (world.random.below(2) === 0) transaction.put(name, bytes(`u${i}`), 0n as LeaseId);
    });
  } else await store.put(name, bytes(`v${i} ${value}`), {});
}

function stateAt(store: FullStore, at: Revision): unknown {
  const all = store.range({ start: key(""), end: key("\u00ff"), at });
  assert.equal(all.kind, "ok");
  return all.kind === "ok" ? all.kvs.map(plain) : [];
}

class Nothing implements ReplaySink {
  checkpoint(): void {}
  records(): void {}
}

/** Opens a store from these chunks as a checkpoint. */
async function restored(world: World, revision: number, chunks: Uint8Array[]): Promise<FullStore> {
  const log = new MemoryLog("copy", "all");
  const engine = new MemoryEngine(log);
  await engine.open(new Nothing(), "next");
  const next = (): Uint8Array | undefined => chunks.shift();
  await engine.checkpoint({ revision, next, quiet: false, hurried: new AbortController().signal });
  await engine.close();
  return openStoreOn({ ...world, engine: new MemoryEngine(log) }, bigOptions);
}

const bigOptions = { ...smallOptions, quotaBytes: 2 ** 26, slabBytes: 2 ** 16 };

void test("a checkpoint is of its revision, whatever is written, deleted and compacted while it is made", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const world = newWorld(seed);
    const engine = steppedEngine();
    const store = await openStoreOn({ ...world, engine }, bigOptions);
    for (let i = 0; i < keys; i++) {
      await store.put(key(`k${String(i).padStart(4, "0")}`), bytes(`first ${value}`), {});
    }
    for (let i = 0; i < 40; i++) await change(store, world, i);
    const revision = store.commitRevision;
    const expected = stateAt(store, revision);
    engine.wanted = true;
    await store.compact(revision);
    await world.clock.advance(20);
    assert.equal(engine.source?.revision, revision, `seed ${seed}`);
    do {
      for (let i = 0; i < 60; i++) await change(store, world, 1000 + i);
      await store.compact(store.commitRevision);
      await world.clock.advance(20);
      // One version a key, one more that is held, and the tombstones of the last revision.
      assert.ok(store.stats().versions <= 2.4 * keys + 4, `seed ${seed}`);
    } while (engine.step());
    assert.ok(engine.chunks.length > 4, "the state is one chunk: nothing was tried");
    engine.finish();
    await world.clock.advance(20);
    assert.ok(store.stats().versions <= store.stats().keys + 4, `seed ${seed}: still held`);
    const copy = await restored(world, revision, [...engine.chunks]);
    assert.deepEqual(stateAt(copy, revision as Revision), expected, `seed ${seed}`);
    assert.ok(rising(engine.chunks), `seed ${seed}`);
    for (const one of [copy, store]) await one.close();
  }
});

/** Whether the keys of the puts rise. */
function rising(chunks: readonly Uint8Array[]): boolean {
  let last = "";
  for (const chunk of chunks) {
    const reader = new RecordReader(chunk);
    for (let at = 0; at < chunk.length; at += reader.size(at)) {
      if (reader.kind(at) !== RecordKind.put) continue;
      if (reader.key(at) <= last) return false;
      last = reader.key(at);
    }
  }
  return true;
}
