/**
 * Power cuts at every kind of moment: clients write, and the disk stops at a step that the seed chose. The surviving
 * directory is opened, and the checker verifies:
 *
 *   - every acknowledged write is there, at its revision (unless compacted since);
 *   - everything that a reader, watcher or writer has seen is still there, unchanged;
 *   - nothing is there that was never submitted;
 *   - revisions are dense from the compacted one to the head, and the state is the sum of their changes;
 *   - a watch that continues from its position gets the following changes: no gap, no duplicate.
 *
 * The last test breaks the disk's promise and expects the checker to notice.
 *
 * PILOTHOUSE_RUNS=10000 for more seeds, PILOTHOUSE_SEED for the first one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import { lyingFile, withFiles } from "#platform/testing/changed.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { OpenedStore } from "./full-store.ts";
import type { LeaseId } from "./store.ts";
import {
  bytes,
  describe,
  key,
  newWorld,
  openTestStore,
  rev,
  TestSink,
  text,
} from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";

const runs = Number(process.env["PILOTHOUSE_RUNS"] ?? 100);
const firstSeed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const lives = 4;
/** At most this many clients write; with one, each commit is written at once. */
const clientsMax = 5;
const opsPerClient = 12;
const everything = { start: key(""), end: key("~") };

/** What the outside world knows, over all lives of one store. */
class Witness {
  readonly submitted = new Set<string>();
  /** By revision: the changes that some reader, watcher or writer has seen. */
  readonly told = new Map<number, string>();
  toldRevision = 1;
  toldCompact = 1;
  /** A watcher's position and what it was given, over all lives. */
  position = 1;

  tell(revision: number, line: string): void {
    const before = this.told.get(revision);
    assert.ok(before === undefined || before === line, `${revision}: ${before} became ${line}`);
    this.told.set(revision, line);
    this.toldRevision = Math.max(this.toldRevision, revision);
  }

  /** `lines`: the recovered history after compactRevision. */
  checkRecovered(store: OpenedStore, lines: ReadonlyMap<number, string>): void {
    const { commitRevision, compactRevision } = store;
    assert.ok(commitRevision >= this.toldRevision, "an acknowledged write is lost");
    assert.ok(compactRevision >= this.toldCompact, "an acknowledged compaction is lost");
    for (let revision = compactRevision + 1; revision <= commitRevision; revision++) {
      const line = lines.get(revision);
      assert.ok(line !== undefined, `revision ${revision} is missing`);
      for (const part of line.split(" ")) assert.ok(this.submitted.has(part), `phantom ${part}`);
      this.tell(revision, line);
    }
    assert.equal(lines.size, commitRevision - compactRevision);
  }
}

function linesByRevision(sink: TestSink): Map<number, string> {
  return new Map(
    sink.commits.map(({ revision, events }) => [revision, events.map(describe).join(" ")]),
  );
}

class Life {
  readonly #witness: Witness;
  readonly #world: World;
  readonly #random: FakeRandom;
  readonly #store: OpenedStore;
  #lease: LeaseId | undefined;

  constructor(witness: Witness, world: World, random: FakeRandom, store: OpenedStore) {
    this.#witness = witness;
    this.#world = world;
    this.#random = random;
    this.#store = store;
  }

  /** Everything recovered is as it must be; the watcher goes on. */
  async begin(): Promise<void> {
    const store = this.#store;
    const sink = new TestSink();
    store.watch(everything, store.compactRevision, sink);
    while (sink.commits.length < store.commitRevision - store.compactRevision) {
      const before = sink.commits.length;
      await this.#world.clock.advance(0);
      assert.ok(sink.commits.length > before, "history stops short");
    }
    this.#witness.checkRecovered(store, linesByRevision(sink));
    this.#checkState(sink);
    this.#follow();
  }

  async client(id: number): Promise<void> {
    for (let i = 0; i < opsPerClient; i++) {
      await this.#operation(`${id}.${i}`);
      if (this.#random.chance(0.2)) await this.#world.clock.advance(this.#random.below(300));
    }
  }

  /** The state at the head is the state at the compacted revision plus all changes since. */
  #checkState(sink: TestSink): void {
    const store = this.#store;
    const base = store.range({ ...everything, at: store.compactRevision });
    const head = store.range(everything);
    assert.ok(base.kind === "ok" && head.kind === "ok");
    const state = new Map(base.kvs.map((kv) => [kv.key, text(kv.value)]));
    for (const event of sink.commits.flatMap((commit) => commit.events)) {
      if (event.kind === "put") state.set(event.key, text(event.kv.value));
      else state.delete(event.key);
    }
    const sorted = [...state].toSorted(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(
      head.kvs.map((kv) => [kv.key, text(kv.value)]),
      sorted,
    );
  }

  /** One watcher over all lives: each next commit is the next revision. */
  #follow(): void {
    const witness = this.#witness;
    witness.position = Math.max(witness.position, this.#store.compactRevision);
    this.#store.watch(everything, rev(witness.position), {
      deliver: (commits) => {
        for (const { revision, events } of commits) {
          assert.equal(revision, witness.position + 1, "a gap or a duplicate");
          witness.position = revision;
          witness.tell(revision, events.map(describe).join(" "));
        }
        return true;
      },
      compacted: () => assert.fail("a live watch was told compacted"),
    });
  }

  async #operation(id: string): Promise<void> {
    const name = `k${this.#random.below(8)}`;
    const dice = this.#random.below(20);
    if (dice < 12) await this.#put(name, id.padEnd(this.#random.below(900), "."));
    else if (dice < 16) await this.#delete(name);
    else if (dice < 18) await this.#compact();
    else if (dice < 19) this.#lease = await this.#store.grantLease(1);
    else assert.equal(this.#store.get(key("no")).kind, "missing");
  }

  async #put(name: string, value: string): Promise<void> {
    const lease = this.#lease !== undefined && this.#random.chance(0.3) ? this.#lease : undefined;
    this.#witness.submitted.add(`${name}=${value}`);
    // What expires with a lease was submitted with it.
    this.#witness.submitted.add(`-${name}`);
    const options = given({ lease });
    const result = await this.#store.put(key(name), bytes(value), options);
    if (result.kind === "committed") this.#witness.tell(result.revision, `${name}=${value}`);
    else assert.equal(result.kind, "lease-not-found");
  }

  async #delete(name: string): Promise<void> {
    const result = await this.#store.delete(key(name), {});
    if (result.kind === "committed") this.#witness.tell(result.revision, `-${name}`);
    else assert.equal(result.kind, "missing");
  }

  async #compact(): Promise<void> {
    const revision = this.#store.commitRevision - this.#random.below(10);
    const result = await this.#store.compact(rev(revision));
    if (result.kind !== "ok") return;
    this.#witness.toldCompact = Math.max(this.#witness.toldCompact, revision);
  }
}

/** One store through several lives, each ended by a power cut. */
async function run(seed: number, makeDisk: (disk: FakeDisk) => FakeDisk): Promise<void> {
  const random = new FakeRandom(seed);
  const witness = new Witness();
  let disk = new FakeDisk(seed);
  for (let life = 0; life < lives; life++) {
    const world: World = { ...newWorld(seed + life), clock: new FakeClock(), disk: makeDisk(disk) };
    const last = life === lives - 1;
    if (!last) disk.crashAfter(random.below(random.chance(0.2) ? 40 : 600));
    const done = live(witness, world, random.fork(), last);
    // A rejection means the checker spoke; a crash leaves the rest of the life hanging.
    await Promise.race([done, disk.crashed]);
    await settle();
    disk = disk.survivor();
  }
}

async function live(
  witness: Witness,
  world: World,
  random: FakeRandom,
  last: boolean,
): Promise<void> {
  const store = await openTestStore(world, "local", {
    segmentBytes: 8192,
    checkpointLogBytes: 4096,
  });
  const life = new Life(witness, world, random, store);
  await life.begin();
  if (last) return;
  const clients = 1 + random.below(clientsMax);
  await Promise.all(Array.from({ length: clients }, (_, id) => life.client(id)));
  if (random.chance(0.5)) await store.close();
}

void test(`over ${runs} seeds no acknowledged write is lost and nothing is made up`, async () => {
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    try {
      await run(seed, (disk) => disk);
    } catch (error) {
      const command = `PILOTHOUSE_SEED=${seed} PILOTHOUSE_RUNS=1`;
      throw new Error(`${command}: ${(error as Error).message}`, { cause: error });
    }
  }
});

void test("the checker bites: a disk that does not keep what it synced is found out", async () => {
  let found = 0;
  for (let seed = 1; seed <= 20; seed++) {
    await run(seed, (disk) => withFiles(disk, lyingFile)).catch(() => found++);
  }
  assert.ok(found >= 10, `found ${found} of 20`);
});
