/** Crowds of watchers of the registry: in turns and windows; few watchers: at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compilePredicate } from "#watch/predicate.ts";
import { configMap, newWorld, plainWrite, RecordingSink, type World } from "./testing/fixture.ts";

const everything = compilePredicate({ namespace: "", namespaced: true });

class Crowd {
  readonly world: World;
  readonly sinks: readonly RecordingSink[];

  private constructor(world: World, sinks: readonly RecordingSink[]) {
    this.world = world;
    this.sinks = sinks;
  }

  static async of(count: number): Promise<Crowd> {
    const world = await newWorld();
    const cache = world.registry.cache({ group: "", resource: "configmaps" });
    const sinks = Array.from({ length: count }, () => new RecordingSink());
    const start = { after: cache.state.revision };
    for (const sink of sinks) cache.watch({ predicate: everything, bookmarks: true, start }, sink);
    return new Crowd(world, sinks);
  }

  async write(name: string): Promise<void> {
    await this.world.resource("configmaps").create("ns", configMap(name), plainWrite);
  }

  /** Counts the watchers that got exactly this number of events. */
  told(events: number): number {
    return this.sinks.filter(({ items }) => items.length === events).length;
  }

  async close(): Promise<void> {
    await this.world.registry.close();
    await this.world.store.close();
  }
}

test("a write is told to few watchers before it is answered, one by one", async () => {
  const crowd = await Crowd.of(999);
  await crowd.write("a");
  assert.equal(crowd.told(1), 999);
  await crowd.write("b");
  assert.equal(crowd.told(2), 999);
  await crowd.close();
});

test("a crowd is told in turns, and what is written within a window together", async () => {
  const crowd = await Crowd.of(1_200);
  const { clock, registry } = crowd.world;
  clock.tick(100);
  await crowd.write("a");
  assert.equal(crowd.told(1), 500, "the first turn is at once");
  clock.tick(0);
  assert.equal(crowd.told(1), 1_200);
  await crowd.write("b");
  await crowd.write("c");
  assert.equal(crowd.told(1), 1_200, "the window is not over");
  assert.equal(
    registry.cache({ group: "", resource: "configmaps" }).state.size,
    3,
    "reads are not late",
  );
  clock.tick(4);
  assert.equal(crowd.told(3), 1_200);
  assert.deepEqual(
    crowd.sinks[1_199]?.items.map(({ type, object }) => `${type} ${object?.object.metadata?.name}`),
    ["ADDED a", "ADDED b", "ADDED c"],
  );
  await crowd.close();
});

test("a bookmark waits for no window: what it names has been told", async () => {
  const crowd = await Crowd.of(1_200);
  const { clock } = crowd.world;
  clock.tick(60_000);
  await crowd.write("a");
  await crowd.write("b");
  clock.tick(60_000);
  for (const { items } of crowd.sinks) {
    const last = items.findLast(({ type }) => type === "BOOKMARK");
    const events = items.filter(({ type }) => type !== "BOOKMARK");
    assert.equal(events.length, 2);
    assert.ok(Number(last?.resourceVersion) >= Number(events[1]?.resourceVersion));
    assert.ok(items.indexOf(last as never) > items.indexOf(events[1] as never));
  }
  await crowd.close();
});
