/**
 * Random runs against the model: puts, guards, deletes, compactions, watches, leases, restarts.
 * After every step, the store's state, its past and the output of its watches must equal the model's.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { settle } from "#platform/testing/clock.ts";
import type { OpenedStore } from "./full-store.ts";
import type { LeaseId, StoreWatch } from "./store.ts";
import { bytes, key, newWorld, openTestStore, rev, TestSink, text } from "./testing/fixture.ts";
import type { EngineName, World } from "./testing/fixture.ts";
import { Model } from "./testing/model.ts";

const runs = 60;
const names = ["a", "a/b", "b", "c", "d"];
const leaseSeconds = 10;

type Step =
  | { readonly kind: "put"; readonly key: string; readonly size: number; readonly leased: boolean }
  | { readonly kind: "guarded"; readonly key: string; readonly right: boolean }
  | { readonly kind: "delete"; readonly key: string }
  | { readonly kind: "compact"; readonly back: number }
  | { readonly kind: "watch"; readonly back: number; readonly room: number }
  | { readonly kind: "resume" }
  | { readonly kind: "lease" }
  | { readonly kind: "time"; readonly seconds: number }
  | { readonly kind: "reopen" };

const name = fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      key: name,
      size: fc.integer({ min: 0, max: 1500 }),
      leased: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("guarded" as const), key: name, right: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), key: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const), back: fc.nat(6) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("watch" as const),
      back: fc.nat(8),
      room: fc.nat(30),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "resume" } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "lease" } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("time" as const),
      seconds: fc.integer({ min: 1, max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "reopen" } as const) },
);

interface Watching {
  readonly sink: TestSink;
  readonly after: number;
  watch: StoreWatch;
}

interface Lease {
  readonly id: LeaseId;
  dueMs: number;
  readonly keys: Set<string>;
}

class Run {
  readonly model = new Model();
  readonly world: World;
  readonly engine: EngineName;
  store: OpenedStore;
  watches: Watching[] = [];
  leases: Lease[] = [];

  constructor(engine: EngineName, world: World, store: OpenedStore) {
    this.engine = engine;
    this.world = world;
    this.store = store;
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case "put":
        return this.put(step.key, step.size, step.leased ? this.leases.at(-1) : undefined);
      case "guarded":
        return this.guarded(step.key, step.right);
      case "delete":
        return this.delete(step.key);
      case "compact":
        return this.compact(this.model.revision - step.back);
      case "watch":
        return this.watch(this.model.revision - step.back, step.room);
      case "resume":
        return this.resume();
      case "lease":
        return this.lease();
      case "time":
        return this.time(step.seconds);
      case "reopen":
        return this.reopen();
      default:
        step satisfies never;
    }
  }

  async put(name: string, size: number, lease: Lease | undefined): Promise<void> {
    const value = `${this.model.revision}`.padEnd(size, ".");
    const options = lease === undefined ? {} : { lease: lease.id };
    const result = await this.store.put(key(name), bytes(value), options);
    const before = this.model.get(name);
    assert.ok(result.kind === "committed");
    assert.equal(result.previous?.modRevision, before?.revision);
    assert.equal(result.revision, this.model.put(name, value));
    this.attach(name, lease);
  }

  async guarded(name: string, right: boolean): Promise<void> {
    const actual = this.model.modRevision(name);
    const modRevision = rev(right ? actual : actual + 1);
    const result = await this.store.put(key(name), bytes("guarded"), { guard: { modRevision } });
    if (right) {
      assert.ok(result.kind === "committed");
      assert.equal(result.revision, this.model.put(name, "guarded"));
      this.attach(name, undefined);
    } else {
      assert.ok(result.kind === "conflict");
      assert.equal(result.actual?.modRevision ?? 0, actual);
    }
  }

  async delete(name: string): Promise<void> {
    const result = await this.store.delete(key(name), {});
    const revision = this.model.delete([name]);
    if (revision === undefined) assert.equal(result.kind, "missing");
    else assert.equal(result.kind === "committed" && result.revision, revision);
    this.attach(name, undefined);
  }

  async compact(revision: number): Promise<void> {
    const result = await this.store.compact(rev(revision));
    if (revision <= this.model.compactRevision) assert.equal(result.kind, "compacted");
    else {
      assert.equal(result.kind, "ok");
      this.model.compactRevision = revision;
    }
    await this.world.clock.advance(0);
  }

  async watch(after: number, room: number): Promise<void> {
    const sink = new TestSink(room);
    const watch = this.store.watch({ start: key("a"), end: key("z") }, rev(after), sink);
    this.watches.push({ sink, after, watch });
    await settle();
  }

  async resume(): Promise<void> {
    for (const { sink, watch } of this.watches) {
      sink.room += 20;
      watch.resume();
    }
    await this.world.clock.advance(0);
  }

  async lease(): Promise<void> {
    const id = await this.store.grantLease(leaseSeconds);
    this.leases.push({ id, dueMs: this.nowMs() + leaseSeconds * 1000, keys: new Set() });
  }

  async time(seconds: number): Promise<void> {
    const untilMs = this.nowMs() + seconds * 1000;
    await this.world.clock.advance(seconds * 1000);
    for (const lease of this.leases) {
      if (lease.dueMs <= untilMs) this.model.delete([...lease.keys]);
    }
    this.leases = this.leases.filter((lease) => lease.dueMs > untilMs);
  }

  async reopen(): Promise<void> {
    if (this.engine === "memory") return;
    const stopped = this.watches;
    await this.store.close();
    this.store = await openTestStore(this.world, this.engine);
    // Times start anew, and watches go on from where they stood.
    for (const lease of this.leases) lease.dueMs = this.nowMs() + leaseSeconds * 1000;
    for (const watching of stopped) {
      if (watching.sink.compactedAt !== undefined) continue;
      const { position } = watching.watch;
      const range = { start: key("a"), end: key("z") };
      watching.watch = this.store.watch(range, position, watching.sink);
    }
    await settle();
  }

  attach(name: string, lease: Lease | undefined): void {
    for (const other of this.leases) other.keys.delete(name);
    lease?.keys.add(name);
  }

  nowMs(): number {
    return this.world.clock.monotonicMs();
  }

  check(): void {
    const { model, store } = this;
    assert.equal(store.commitRevision, model.revision);
    assert.equal(store.compactRevision, model.compactRevision);
    const oldest = Math.max(model.compactRevision, model.revision - 6);
    for (let at = oldest; at <= model.revision; at++) {
      assert.deepEqual(stateOf(store, at), model.state(at), `state at ${at}`);
    }
    for (const { sink, after } of this.watches) {
      const expected = model.events(after);
      const got = sink.lines();
      assert.deepEqual(got, expected.slice(0, got.length));
      if (sink.compactedAt === undefined && sink.room > 0) this.checkRoom(sink, expected.length);
    }
    assert.equal(store.stats().leases, this.leases.length);
  }

  /** A sink refuses whole batches, so it may lack what it had room for - but only if it was full. */
  checkRoom(sink: TestSink, expected: number): void {
    const missing = expected - sink.lines().length;
    assert.ok(
      missing === 0 ||
        this.watches.some((w) => w.sink === sink && w.watch.position < this.model.revision),
    );
  }
}

function stateOf(store: OpenedStore, at: number): string[] {
  const result = store.range({ start: key("a"), end: key("z"), at: rev(at) });
  assert.ok(result.kind === "ok");
  return result.kvs.map((kv) => `${kv.key}=${text(kv.value)}@${kv.modRevision}`);
}

for (const engine of ["memory", "local"] as const) {
  void test(`any run over the ${engine} engine agrees with the model`, async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.array(step, { minLength: 1, maxLength: 60, size: "max" }),
      async (seed, steps) => {
        const world = newWorld(seed);
        const run = new Run(engine, world, await openTestStore(world, engine));
        for (const one of steps) {
          await run.step(one);
          run.check();
        }
        await run.store.close();
      },
    );
    await fc.assert(property, { numRuns: runs });
  });
}
