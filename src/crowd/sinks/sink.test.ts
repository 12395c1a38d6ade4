/**
 * A sink's consumer ends with the API's state: every object's events in order, none twice, whatever of the
 * server, the sink and the sender fails in between.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "#api/object.ts";
import { createFakeApi, type FakeApi } from "#client/testing/fake-api.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { parseRoute } from "./route-template.ts";
import { Sink } from "./sink.ts";
import { SinkConfigError, type SinkRecord } from "./sink-driver.ts";
import { SinkMetrics } from "./sink-metrics.ts";
import type { SinkSource } from "./source-reader.ts";
import { DeltaConsumer } from "./testing/delta-consumer.ts";
import { FakeSink } from "./testing/fake-sink.ts";

const ref = { group: "", version: "v1", resource: "configmaps" } as const;
const source: SinkSource = {
  name: "v1/configmaps",
  encoding: { format: "cloudevents", source: "//test", ref, kind: "ConfigMap", fields: undefined },
  route: parseRoute("k8s.{resource}.{namespace}.{name}", /[A-Za-z0-9_-]/),
  selection: {},
};

interface World {
  readonly api: FakeApi;
  readonly clock: FakeClock;
  readonly random: FakeRandom;
  readonly metrics: MetricSet;
}

function newWorld(seed: number): World {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  return { api, clock, random: new FakeRandom(seed), metrics: new MetricSet() };
}

function start(
  { api, clock, random, metrics }: World,
  driver: FakeSink,
  limits?: { bytesMax: number; batchBytesMax: number; batchRecordsMax: number },
  sources: readonly SinkSource[] = [source],
) {
  const stopping = new AbortController();
  const sinkMetrics = new SinkMetrics(metrics, () => clock.monotonicMs());
  const deps = { client: api, clock, random, log: silentLog, metrics: sinkMetrics };
  const sink = new Sink(deps, { name: "test", sources, driver }, limits);
  const running = sink.run(stopping.signal);
  return {
    running,
    stop: async (): Promise<void> => {
      stopping.abort();
      api.cutWatches();
      await running;
    },
  };
}

let uids = 0;
function object(name: string, text: string, uid?: string): KubeObject {
  const metadata = { namespace: "default", name, uid: uid ?? `uid-${++uids}` };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } } as KubeObject;
}

/** What a consumer makes of the log; throws for what no consumer should meet. */
function rebuild(log: readonly SinkRecord[]): ReadonlyMap<string, string> {
  const state = new Map<string, string>();
  const seen = new Set<string>();
  let marked: Set<string> | undefined;
  for (const { type, key, resourceVersion, id } of log) {
    if (type === "SNAPSHOT_BEGIN") marked = new Set();
    if (type === "SNAPSHOT_END" && marked !== undefined) {
      for (const known of state.keys()) if (!marked.has(known)) state.delete(known);
      marked = undefined;
    }
    if (key === "") continue;
    assert.ok(!seen.has(id), `${id} came twice`);
    seen.add(id);
    marked?.add(key);
    const before = state.get(key);
    if (type === "DELETED") {
      assert.ok(before !== undefined, `${key} was deleted and not there`);
      state.delete(key);
    } else {
      assert.ok(BigInt(resourceVersion) > BigInt(before ?? 0), `${key} went back`);
      assert.equal(type, before === undefined ? "ADDED" : "MODIFIED", key);
      state.set(key, resourceVersion);
    }
  }
  return state;
}

function stateOf(api: FakeApi): ReadonlyMap<string, string> {
  const all = api.peekAll<KubeObject>(ref);
  return new Map(
    all.map(({ metadata }) => [`default/${metadata?.name}`, metadata?.resourceVersion ?? ""]),
  );
}

async function settled(world: World, driver: FakeSink): Promise<void> {
  for (let round = 0; round < 400; round++) {
    await world.clock.advance(1_000);
    const { log } = driver;
    if (log.length > 0 && equal(rebuild(log), stateOf(world.api))) return;
  }
  assert.deepEqual(rebuild(driver.log), stateOf(world.api));
}

function equal(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function write({ api, random }: World): void {
  const name = `c${random.below(12)}`;
  const there = api.peek<KubeObject>(ref, "default", name);
  if (there !== undefined && random.below(3) === 0) api.drop(ref, "default", name);
  else api.put(ref, object(name, `${random.below(1e9)}`, there?.metadata?.uid));
}

void describe("a sink", () => {
  test("begins with the state between marks, and goes on with what changes", async () => {
    const world = newWorld(1);
    world.api.put(ref, object("a", "1"));
    world.api.put(ref, object("b", "1"));
    const driver = new FakeSink({ random: world.random, failures: 0 });
    const sink = start(world, driver);
    await settled(world, driver);
    world.api.put(
      ref,
      object("a", "2", world.api.peek<KubeObject>(ref, "default", "a")?.metadata?.uid),
    );
    world.api.drop(ref, "default", "b");
    await settled(world, driver);
    await sink.stop();
    const told = driver.log.map(({ type, key, route }) => `${type} ${key} ${route}`);
    assert.deepEqual(told, [
      "SNAPSHOT_BEGIN  k8s.configmaps._._",
      "ADDED default/a k8s.configmaps.default.a",
      "ADDED default/b k8s.configmaps.default.b",
      "SNAPSHOT_END  k8s.configmaps._._",
      "MODIFIED default/a k8s.configmaps.default.a",
      "DELETED default/b k8s.configmaps.default.b",
    ]);
  });

  for (const knows of [true, false]) {
    const what = knows ? "tells what it holds" : "cannot tell what it holds";
    test(`that ${what} misses nothing while sink, server and sender fail`, async () => {
      for (let seed = 1; seed <= 60; seed++) {
        const world = newWorld(seed);
        const driver = new FakeSink({ random: world.random, failures: 15, knows });
        const sink = await fail(world, driver, () => start(world, driver));
        driver.failures = 0;
        if (knows) await settled(world, driver);
        else await eventually(world, driver);
        await sink.stop();
      }
    });
  }

  test("of deltas gives whoever applies them the API's objects, whatever fails", async () => {
    const deltas: SinkSource = { ...source, encoding: { ...source.encoding, format: "deltas" } };
    let patches = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const world = newWorld(seed);
      const driver = new FakeSink({ random: world.random, failures: 15, knows: true });
      const sink = await fail(world, driver, () => start(world, driver, undefined, [deltas]));
      driver.failures = 0;
      await settled(world, driver);
      await sink.stop();
      patches += applied(world, driver);
    }
    assert.ok(patches > 500, `${patches} patches`);
  });

  test("holds no more than its buffer while the sink stands still, and catches up", async () => {
    const world = newWorld(3);
    const driver = new FakeSink({ random: world.random, failures: 0 });
    const limits = { bytesMax: 20_000, batchBytesMax: 4000, batchRecordsMax: 10 };
    world.api.put(ref, object("first", "1"));
    const sink = start(world, driver, limits);
    await settled(world, driver);
    driver.failures = 100;
    for (let i = 0; i < 400; i++) world.api.put(ref, object(`c${i}`, "x".repeat(500)));
    for (let i = 0; i < 20; i++) {
      await world.clock.advance(500);
      const pending = /pilothouse_sink_pending_bytes\{sink="test"\} (\d+)/.exec(
        world.metrics.text(),
      );
      assert.ok(Number(pending?.[1] ?? 0) < 2 * limits.bytesMax);
    }
    driver.failures = 0;
    await settled(world, driver);
    await sink.stop();
  });

  test("several events of one resourceVersion are neither lost nor repeated at a restart", async () => {
    const { PositionCounter, parsePosition } = await import("./position.ts");
    const counter = new PositionCounter();
    assert.deepEqual(
      ["7", "9", "9", "9", "10"].map((at) => counter.next(at)),
      ["7.1", "9.1", "9.2", "9.3", "10.1"],
    );
    const skip = { resourceVersion: "9", events: 2 };
    assert.deepEqual(parsePosition("9.2"), { resourceVersion: "8", skip });
    assert.deepEqual(parsePosition("9"), { resourceVersion: "9", skip: undefined });
    for (const bad of ["begun", "", "9.", "x", "-1", "9.2.1", undefined]) {
      assert.equal(parsePosition(bad), undefined);
    }
  });

  test("whose setup is wrong ends, and says why", async () => {
    const world = newWorld(4);
    const driver = new FakeSink({ random: world.random, failures: 0 });
    driver.open = () => Promise.reject(new SinkConfigError("stream PODS takes no subject k8s.>"));
    await assert.rejects(start(world, driver).running, /takes no subject/);
  });
});

/** Writes while everything fails now and then. @returns what runs at the end. */
async function fail(
  world: World,
  driver: FakeSink,
  begin: () => ReturnType<typeof start>,
): Promise<ReturnType<typeof start>> {
  const { random, api, clock } = world;
  let sink = begin();
  for (let step = 0; step < 150; step++) {
    write(world);
    const luck = random.below(60);
    if (luck === 0) api.cutWatches();
    if (luck === 1) api.compact();
    if (luck === 2) driver.takeOver();
    if (luck === 3) {
      await sink.stop();
      sink = begin();
    }
    if (random.below(4) === 0) await clock.advance(random.below(2_000));
  }
  return sink;
}

/** @returns how many of the messages were patches. */
function applied({ api }: World, { log }: FakeSink): number {
  const consumer = new DeltaConsumer();
  for (const { type, key, resourceVersion, value } of log) {
    if (type === "DELETED") consumer.forget(key);
    else if (value !== undefined) consumer.take(key, resourceVersion, value);
  }
  for (const there of api.peekAll<KubeObject>(ref)) {
    assert.deepEqual(consumer.get(`default/${there.metadata?.name}`), there);
  }
  return consumer.patches;
}

/** With snapshots an object comes again; the state is what must be right. */
async function eventually(world: World, driver: FakeSink): Promise<void> {
  const state = (): ReadonlyMap<string, string> => {
    const found = new Map<string, string>();
    let marked: Set<string> | undefined;
    for (const { type, key, resourceVersion } of driver.log) {
      if (type === "SNAPSHOT_BEGIN") marked = new Set();
      if (type === "SNAPSHOT_END") {
        for (const known of found.keys()) if (marked?.has(known) === false) found.delete(known);
        marked = undefined;
      }
      if (key === "") continue;
      marked?.add(key);
      if (type === "DELETED") found.delete(key);
      else found.set(key, resourceVersion);
    }
    return found;
  };
  for (let round = 0; round < 400; round++) {
    await world.clock.advance(1_000);
    if (equal(state(), stateOf(world.api))) return;
  }
  assert.deepEqual(state(), stateOf(world.api));
}
