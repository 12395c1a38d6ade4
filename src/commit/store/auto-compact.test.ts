/** Automatic compaction keeps between one and two intervals of history. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AutoCompactor } from "./auto-compact.ts";
import { bytes, key, newWorld, openTestStore } from "./testing/fixture.ts";

void test("history of at least one interval is kept, older is compacted, until it is stopped", async () => {
  const world = newWorld(1);
  const store = await openTestStore(world, "memory");
  const compactor = new AutoCompactor({ ...world, store }, { intervalMs: 1000 });
  compactor.start();
  const compacted: number[] = [];
  for (let i = 0; i < 5; i++) {
    await store.put(key("a"), bytes("1"), {});
    await world.clock.advance(1000);
    compacted.push(store.compactRevision);
  }
  // Before the n-th tick the head is n + 1; each tick compacts to what the one before it saw.
  assert.deepEqual(compacted, [1, 2, 3, 4, 5]);
  compactor.stop();
  await world.clock.advance(10_000);
  assert.equal(store.compactRevision, 5);
});

void test("a store that stopped ends it", async () => {
  const world = newWorld(1);
  const store = await openTestStore(world, "memory");
  const compactor = new AutoCompactor({ ...world, store }, { intervalMs: 1000 });
  compactor.start();
  await store.put(key("a"), bytes("1"), {});
  await world.clock.advance(1000);
  await store.close();
  await world.clock.advance(10_000);
  assert.deepEqual(world.clock.timers(), []);
});
