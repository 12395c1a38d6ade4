/**
 * A replay sends again what consumers have read, or the whole state; where it cannot, nothing moves in the sink. Its
 * end, wherever that is, leaves the sink to its next ordinary session without a gap.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject, KubeObject } from "#api/object.ts";
import { expiredError } from "#api/status.ts";
import { createFakeApi, type FakeApi } from "#client/testing/fake-api.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { ReplayDriver } from "./replay-driver.ts";
import { parseRoute } from "./route-template.ts";
import { Sink } from "./sink.ts";
import type { SinkDriver, SinkRecord } from "./sink-driver.ts";
import { SinkMetrics } from "./sink-metrics.ts";
import { newestRevisions, oldestRevision } from "./source-history.ts";
import type { Replay, SinkSource } from "./source-reader.ts";
import { FakeSink } from "./testing/fake-sink.ts";

const ref = { group: "", version: "v1", resource: "configmaps" } as const;
const source: SinkSource = {
  name: "v1/configmaps",
  encoding: { format: "cloudevents", source: "//test", ref, kind: "ConfigMap", fields: undefined },
  route: parseRoute("k8s.{resource}.{namespace}.{name}", /[A-Za-z0-9_-]/),
  selection: {},
};
const signal = new AbortController().signal;
const bookmarkMs = 3_000;

class World {
  readonly clock = new FakeClock();
  readonly api: FakeApi = createFakeApi({ clock: this.clock });
  readonly random: FakeRandom;
  readonly driver: FakeSink;

  constructor(seed: number, options: { readonly knows?: boolean } = {}) {
    this.random = new FakeRandom(seed);
    this.driver = new FakeSink({ random: this.random, failures: 0, ...options });
    this.#sendBookmarks();
  }

  put(name: string, text: string): void {
    const uid = this.api.peek<KubeObject>(ref, "default", name)?.metadata?.uid;
    const metadata = { namespace: "default", name, uid: uid ?? `uid-${this.random.below(1e9)}` };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } };
    this.api.put(ref, object as KubeObject);
  }

  drop(name: string): void {
    this.api.drop(ref, "default", name);
  }

  /** Runs the sink as an instance does, until it has caught up. */
  async runSink(): Promise<void> {
    const stopping = new AbortController();
    const running = this.#sink(this.driver, [source]).run(stopping.signal);
    for (let round = 0; round < 20; round++) await this.clock.advance(1_000);
    stopping.abort();
    this.api.cutWatches();
    await running;
  }

  /** Replays to the end. */
  async replay(replay: Replay): Promise<readonly SinkRecord[]> {
    const from = this.driver.log.length;
    const sources = [{ ...source, replay }];
    const deps = { clock: this.clock, onLanded: () => undefined };
    const driver = new ReplayDriver(deps, this.driver, sources);
    const running = this.#sink(driver, sources).run(driver.over);
    await ended(this.clock, running);
    if (driver.failure !== undefined) throw driver.failure;
    return this.driver.log.slice(from);
  }

  #sink(driver: SinkDriver, sources: readonly SinkSource[]): Sink {
    const { clock, api, random } = this;
    const metrics = new SinkMetrics(new MetricSet(), () => clock.monotonicMs());
    const deps = { client: api, clock, random, log: silentLog, metrics };
    return new Sink(deps, { name: "test", sources, driver });
  }

  #sendBookmarks(): void {
    const { api, clock } = this;
    const watch = api.watch.bind(api);
    api.watch = async (of, call, deliver) => {
      const timer = clock.after("sim.step", bookmarkMs, () => {
        const metadata = { resourceVersion: api.resourceVersion };
        const object = { apiVersion: "v1", kind: "ConfigMap", metadata } as AnyObject;
        if (!call.signal.aborted) deliver([{ type: "BOOKMARK", object: object as never }]);
      });
      try {
        await watch(of, call, deliver);
      } finally {
        timer.cancel();
      }
    };
  }
}

/** Advances the clock until the promise settles. */
async function ended<T>(clock: FakeClock, running: Promise<T>): Promise<T> {
  let isOver = false;
  const noted = (async () => {
    await Promise.allSettled([running]);
    isOver = true;
  })();
  for (let round = 0; round < 400 && !isOver; round++) await clock.advance(1_000);
  assert.ok(isOver, "it does not end");
  await noted;
  return running;
}

const told = (records: readonly SinkRecord[]): readonly string[] =>
  records.filter(({ key }) => key !== "").map(({ type, id, key }) => `${type} ${key} ${id}`);

/** What a consumer holds that takes each message as the object's newest state. */
function held(log: readonly SinkRecord[]): ReadonlyMap<string, string> {
  const state = new Map<string, string>();
  for (const { type, key, resourceVersion } of log) {
    if (key === "") continue;
    if (type === "DELETED") state.delete(key);
    else state.set(key, resourceVersion);
  }
  return state;
}

function stateOf(api: FakeApi): ReadonlyMap<string, string> {
  const all = api.peekAll<KubeObject>(ref);
  return new Map(
    all.map(({ metadata }) => [`default/${metadata?.name}`, metadata?.resourceVersion ?? ""]),
  );
}

/** A sink that has written a state and ten events. @returns the revision between them. */
async function written(world: World): Promise<string> {
  for (const name of ["a", "b", "c"]) world.put(name, "0");
  await world.runSink();
  const from = world.api.resourceVersion;
  for (let i = 0; i < 8; i++) world.put(["a", "b", "d"][i % 3] ?? "a", `${i}`);
  world.drop("c");
  world.put("c", "again");
  await world.runSink();
  return from;
}

void describe("a replay", () => {
  test("sends the same events with the same ids, and the sink goes on behind them", async () => {
    const world = new World(1);
    const from = await written(world);
    const events = told(world.driver.log).slice(3);
    assert.equal(events.length, 10);
    const deps = { client: world.api, clock: world.clock };
    const { watched: until } = await newestRevisions(deps, source, signal);
    assert.deepEqual(told(await world.replay({ kind: "history", from, until })), events);
    const before = world.driver.log.length;
    world.put("a", "later");
    await world.runSink();
    assert.equal(told(world.driver.log.slice(before)).length, 1);
    assert.deepEqual(held(world.driver.log), stateOf(world.api));
  });

  test("ends with its last revision; what lies behind is sent by the sink itself", async () => {
    const world = new World(2);
    const from = await written(world);
    const events = told(world.driver.log).slice(3);
    const until = `${Number(from) + 4}`;
    assert.deepEqual(
      told(await world.replay({ kind: "history", from, until })),
      events.slice(0, 4),
    );
    assert.equal(world.driver.positions.get(source.name), until);
    const before = world.driver.log.length;
    await world.runSink();
    assert.deepEqual(told(world.driver.log.slice(before)), events.slice(4));
  });

  for (const knows of [true, false]) {
    test(`of the state comes between marks, from a sink that ${knows ? "knows its objects" : "cannot be read"}`, async () => {
      const world = new World(3, { knows });
      await written(world);
      world.drop("b");
      world.put("e", "new");
      const sent = await world.replay({ kind: "state" });
      const names = sent.map(({ type, key }) => `${type} ${key}`);
      const gone = knows ? ["DELETED default/b"] : [];
      const added = ["a", "c", "d", "e"].map((name) => `ADDED default/${name}`);
      const marked = ["SNAPSHOT_BEGIN ", ...added, ...gone, "SNAPSHOT_END "];
      assert.deepEqual(names, ["POSITION ", ...marked]);
      const before = world.driver.log.length;
      world.put("f", "later");
      await world.runSink();
      assert.equal(told(world.driver.log.slice(before)).length, 1);
    });
  }

  test("ends a consumer at the API's state while the sink fails", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const world = new World(seed);
      const from = await written(world);
      const events = told(world.driver.log).slice(3);
      world.driver.failures = 30;
      const until = world.api.resourceVersion;
      const isOfState = seed % 2 === 0;
      const replay: Replay = isOfState ? { kind: "state" } : { kind: "history", from, until };
      const sent = await world.replay(replay);
      // Each event once and in order: a session goes on from what has landed.
      if (!isOfState) assert.deepEqual(told(sent), events);
      else assert.equal(sent.at(-1)?.type, "SNAPSHOT_END");
      assert.deepEqual(held(world.driver.log), stateOf(world.api));
    }
  });

  test("writes no difference in place of history that is gone", async () => {
    const world = new World(5);
    const from = await written(world);
    world.api.compact();
    const until = world.api.resourceVersion;
    const before = world.driver.log.length;
    await assert.rejects(world.replay({ kind: "history", from, until }), /dropped the history/);
    assert.deepEqual(told(world.driver.log.slice(before)), []);
    await world.runSink();
    assert.deepEqual(held(world.driver.log), stateOf(world.api));
  });

  test("moves nothing in a sink that was not written, and leaves out nothing that was not read", async () => {
    const world = new World(6);
    for (const replay of [
      { kind: "state" },
      { kind: "history", from: "100", until: "101" },
    ] as const) {
      await assert.rejects(world.replay(replay), /nothing of v1\/configmaps was written/);
    }
    await written(world);
    const at = world.driver.positions.get(source.name);
    const from = world.api.resourceVersion;
    for (let i = 0; i < 5; i++) world.put("a", `unread ${i}`);
    const until = world.api.resourceVersion;
    const later = `${Number(from) + 2}`;
    const sent = await world.replay({ kind: "history", from: later, until });
    assert.equal(told(sent).length, 5, "what was not read is not left out");
    const before = world.driver.log.length;
    world.driver.positions.set(source.name, "comparing");
    await assert.rejects(world.replay({ kind: "history", from, until }), /not completely written/);
    assert.equal(world.driver.log.length, before);
    world.driver.positions.set(source.name, at ?? "");
  });
});

void describe("the oldest revision of a source", () => {
  test("is the one that the server names, or is searched", async () => {
    for (const names of [true, false]) {
      const world = new World(7);
      for (let i = 0; i < 300; i++) world.put("a", `${i}`);
      const oldest = world.api.resourceVersion;
      world.api.compact();
      for (let i = 0; i < 300; i++) world.put("a", `${i}`);
      if (!names) hideOldest(world.api, Number(oldest));
      const deps = { client: world.api, clock: world.clock };
      const { watched: newest } = await newestRevisions(deps, source, signal);
      const found = oldestRevision(deps, source, { from: "5", newest }, signal);
      assert.equal(await ended(world.clock, found), oldest);
    }
  });
});

/** Makes the server refuse as one does that does not tell its oldest revision. */
function hideOldest(api: FakeApi, oldest: number): void {
  const watch = api.watch.bind(api);
  api.watch = (of, call, deliver) => {
    if (Number(call.resourceVersion) >= oldest) return watch(of, call, deliver);
    return Promise.reject(expiredError("The resourceVersion for the provided watch is too old."));
  };
}
