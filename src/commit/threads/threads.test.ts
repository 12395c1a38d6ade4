/**
 * Readers of a store in other threads against the store itself: same state, same history, same commits to watches, under
 * seeded writes from all sides, with compaction, moved records and readers that begin late. Ports deliver when told.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FullStore } from "#store/full-store.ts";
import { openSharedStore } from "#store/open.ts";
import type { Commit, Key, LeaseId, Revision, Store } from "#store/store.ts";
import { bytes, key, newWorld, plain, smallOptions, type World } from "#store/testing/fixture.ts";
import type { FromReader, ToReader } from "./messages.ts";
import { Progress, sharedProgress } from "./progress.ts";
import { ReaderFeed } from "./reader-feed.ts";
import { fakePorts } from "./testing/ports.ts";
import { ThreadStore } from "./thread-store.ts";

const readersMax = 4;
const all = { start: key(""), end: key("\uffff") };

interface Reader {
  readonly store: ThreadStore;
  readonly seen: Commit[];
  /** Revision it began watching after. */
  readonly after: number;
  readonly deliver: (most: number) => boolean;
}

class Threads {
  readonly world: World;
  readonly readers: Reader[] = [];
  readonly #progress = new Progress(sharedProgress(readersMax));
  readonly #feed = new ReaderFeed(this.#progress);
  #store: FullStore | undefined;

  constructor(seed: number) {
    this.world = newWorld(seed);
  }

  get store(): FullStore {
    assert.ok(this.#store);
    return this.#store;
  }

  async open(slabBytes = 2048): Promise<void> {
    const local = { ...smallOptions, quotaBytes: 2 ** 30, slabBytes, engine: "memory" } as const;
    const shared = await openSharedStore(this.world, local, this.#feed);
    this.#feed.serve(shared);
    this.#store = shared.store;
  }

  add(): void {
    const { writer, reader } = fakePorts<ToReader, FromReader>();
    const { state } = this.#feed.add(writer);
    const progress = this.#progress;
    const deps = { ...this.world, port: reader, progress, reader: this.readers.length };
    const atEndOfTurn = (f: () => void): void => queueMicrotask(f);
    const store = new ThreadStore({ ...deps, atEndOfTurn }, smallOptions, structuredClone(state));
    void store.failed.then((error) => assert.fail(error));
    const seen: Commit[] = [];
    const after = store.compactRevision;
    const deliver = (commits: readonly Commit[]): boolean => seen.push(...commits) > 0;
    store.watch(all, after, { deliver, compacted: () => assert.fail("the watch was compacted") });
    const both = (most: number): boolean =>
      [writer.deliver(most), reader.deliver(most)].some(Boolean);
    this.readers.push({ store, seen, after, deliver: both });
  }

  /** Until nothing is on its way. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3;) {
      await microtasks();
      quiet = this.readers.map(({ deliver }) => deliver(1000)).some(Boolean) ? 0 : quiet + 1;
    }
  }
}

async function microtasks(): Promise<void> {
  for (let at = 0; at < 40; at++) await Promise.resolve();
}

async function writeSome(store: Store, { random }: World, name: string): Promise<void> {
  const one = key(`k${random.below(30)}`);
  const choice = random.below(6);
  const found = store.get(one);
  const guard = { modRevision: found.kind === "found" ? found.kv.modRevision : (0 as const) };
  if (choice === 0) await store.delete(one, {});
  else if (choice === 1) await store.delete(one, { guard: { modRevision: guard.modRevision } });
  else if (choice === 2) await store.put(one, bytes(`${name} guarded`), { guard });
  else if (choice === 3) {
    const lease = await store.grantLease(60);
    await store.put(one, bytes(`${name} leased`), { lease });
  } else await store.put(one, bytes(name.repeat(1 + random.below(60))), {});
}

function stateAt(store: Store, at: number): unknown {
  const found = store.range({ ...all, at: at as Revision });
  return found.kind === "ok" ? found.kvs.map(plain) : found.kind;
}

test("a reader shows what the store shows, at each revision, and its watches get the same commits", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const threads = new Threads(seed);
    await threads.open();
    const { store, world } = threads;
    const truth: Commit[] = [];
    store.watch(all, store.commitRevision, {
      deliver: (commits) => truth.push(...commits) > 0,
      compacted: () => assert.fail("compacted"),
    });
    threads.add();
    for (let round = 0; round < 60; round++) {
      if (round === 20 || round === 40) threads.add();
      const writers: Store[] = [store, ...threads.readers.map((one) => one.store)];
      const writes = Array.from({ length: 6 }, (_, at) =>
        writeSome(world.random.pick(writers), world, `w${round}-${at} `),
      );
      for (const { deliver } of threads.readers) deliver(world.random.below(4));
      await microtasks();
      if (world.random.below(3) === 0) await shownToAll(threads);
      await threads.settle();
      await Promise.all(writes);
      if (round % 10 === 9) await store.compact((store.commitRevision - 30) as Revision);
      world.clock.tick(5);
    }
    await threads.settle();
    for (const reader of threads.readers) compare(reader, store, truth, seed);
    for (const { store: one } of threads.readers) await one.close();
    await store.close();
  }
});

/** Whatever is durable when a reader is asked shows there without a turn of anybody's loop. */
async function shownToAll({ store, readers }: Threads): Promise<void> {
  const { commitRevision } = store;
  for (const reader of readers) assert.ok((await reader.store.latest()) >= commitRevision);
}

function compare(
  { store, seen, after }: Reader,
  truth: FullStore,
  commits: readonly Commit[],
  seed: number,
): void {
  assert.equal(store.commitRevision, truth.commitRevision, `seed ${seed}`);
  assert.equal(store.compactRevision, truth.compactRevision, `seed ${seed}`);
  for (let at = truth.compactRevision; at <= truth.commitRevision; at++)
    assert.deepEqual(stateAt(store, at), stateAt(truth, at), `seed ${seed}, revision ${at}`);
  const shown = ({ revision, events }: Commit): unknown => ({
    revision,
    events: events.map(({ kind, key: of }) => `${kind} ${of}`),
  });
  const wanted = commits.filter(({ revision }) => revision > after);
  assert.deepEqual(seen.map(shown), wanted.map(shown), `seed ${seed}`);
}

test("a write is refused as the store refuses it, and one that is in flight when the reader closes has no known outcome", async () => {
  const threads = new Threads(1);
  await threads.open();
  threads.add();
  const [reader] = threads.readers;
  assert.ok(reader);
  const { store } = reader;
  const settled = async <T>(write: Promise<T>): Promise<T> => {
    await threads.settle();
    return write;
  };
  const put = await settled(store.put(key("a"), bytes("1"), {}));
  assert.equal(put.kind, "committed");
  const guard = { modRevision: 0 as const };
  const conflict = await settled(store.put(key("a"), bytes("2"), { guard }));
  assert.equal(conflict.kind === "conflict" && conflict.actual?.version, 1);
  assert.equal((await settled(store.delete(key("b"), {}))).kind, "missing");
  const large = new Uint8Array(smallOptions.valueBytesMax + 1);
  assert.equal((await settled(store.put(key("c"), large, {}))).kind, "too-large");
  const lease = 99n as LeaseId;
  assert.equal((await settled(store.put(key("c"), bytes("1"), { lease }))).kind, "lease-not-found");
  const deleted = await settled(store.delete("a" as Key, {}));
  assert.equal(deleted.kind === "committed" && plain(deleted.previous)["version"], 1);
  const late = store.put(key("late"), bytes("1"), {});
  await store.close();
  assert.equal((await late).kind, "stopped");
  await threads.store.close();
});

test("records that the store's cleaner moves are moved at a reader: its memory stays the store's", async () => {
  const threads = new Threads(1);
  await threads.open(2 ** 16);
  threads.add();
  const [reader] = threads.readers;
  assert.ok(reader);
  const { store, world } = threads;
  const keys = 4000;
  const value = new Uint8Array(2000);
  const putAll = async (which: (at: number) => boolean): Promise<void> => {
    for (let at = 0; at < keys; at++) if (which(at)) await store.put(key(`k${at}`), value, {});
    await threads.settle();
  };
  await putAll(() => true);
  for (let round = 0; round < 4; round++) {
    // Every slab keeps some of its records for ever.
    await putAll((at) => at % 4 !== 0);
    await store.compact(store.commitRevision);
    for (let tick = 0; tick < 2000; tick++) world.clock.tick(1);
    await threads.settle();
  }
  await store.put(key("last"), value, {});
  await threads.settle();
  assert.deepEqual(
    stateAt(reader.store, store.commitRevision),
    stateAt(store, store.commitRevision),
  );
  const [own, theirs] = [store.stats(), reader.store.stats()];
  assert.ok(own.slabHeldBytes < own.slabLiveBytes * 1.2 + 3 * 2 ** 20, "the store cleans");
  assert.ok(theirs.slabHeldBytes <= own.slabHeldBytes + 2 ** 20, JSON.stringify([own, theirs]));
  const found = reader.store.range(all);
  assert.ok(found.kind === "ok" && found.kvs.length === keys + 1);
  for (const kv of found.kvs) assert.ok(kv.value.buffer instanceof SharedArrayBuffer, kv.key);
  await reader.store.close();
  await store.close();
});
