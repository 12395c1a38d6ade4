/** Checksums of a large state are summed up in turns of the loop, and events in between count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { CacheEvent } from "./cache-event.ts";
import { CacheState } from "./cache-state.ts";
import { encodeObject } from "#forms/object-bytes.ts";
import { SharedObject } from "#forms/shared-object.ts";
import { everything, testDigest, testSource } from "./testing/feed.ts";
import { ViewSums } from "./view-sum.ts";

const many = 6_000;

function pod(at: number, revision: number): SharedObject {
  const key = `ns/p${String(at).padStart(5, "0")}`;
  const metadata = { name: key.slice(3), namespace: "ns" };
  const bytes = encodeObject({ apiVersion: "v1", kind: "Pod", metadata });
  return new SharedObject(testSource, key, bytes, revision);
}

function holding(): CacheState {
  const objects = Array.from({ length: many }, (_, at) => pod(at, at + 1));
  const options = { ringItemsMax: 100, ringBytesMax: 1 << 20, pinnedMax: 1 };
  return new CacheState({ objects, revision: many }, options);
}

/** Summed up anew. */
function stateOf(state: CacheState): { count: number; checksum: string } {
  let sum = 0n;
  for (const object of state.snapshot().objects) sum += testDigest(object);
  const checksum = BigInt.asUintN(128, sum).toString(16).padStart(32, "0");
  return { count: state.size, checksum };
}

test("a large state is summed up in turns, whatever changes between them", async () => {
  const clock = new FakeClock();
  const state = holding();
  let digests = 0;
  let most = 0;
  const views = new ViewSums(clock, (object) => {
    most = Math.max(most, ++digests);
    return testDigest(object);
  });
  const view = views.join(everything, () => state.snapshot());
  assert.ok(view !== undefined);
  let turns = 0;
  for (let revision = many + 1; view.state === undefined; revision++) {
    digests = 0;
    // One that is summed up already, one that is not yet, one that comes, and one that goes.
    const changes = [
      pod(turns, revision),
      pod(many - 1 - turns, revision),
      pod(many + turns, revision),
    ];
    const gone = { key: pod(many / 2 + turns, 0).key, next: undefined };
    const events = state.apply(revision, [
      ...changes.map((next) => ({ key: next.key, next })),
      gone,
    ]);
    assert.ok(events.every((event) => event instanceof CacheEvent));
    views.take(events, revision);
    await Promise.resolve();
    turns++;
    assert.ok(turns < 1_000, "it comes to an end");
  }
  assert.ok(clock.turns >= 2, `${clock.turns} turns`);
  assert.ok(most <= 2_100, `${most} digests in a turn`);
  assert.equal(view.position, state.revision);
  assert.deepEqual(view.state, stateOf(state));
});

test("a view that nobody uses any more is not summed up further", async () => {
  const clock = new FakeClock();
  const state = holding();
  let digests = 0;
  const views = new ViewSums(clock, (object) => {
    digests++;
    return testDigest(object);
  });
  const view = views.join(everything, () => state.snapshot());
  assert.ok(view !== undefined && view.state === undefined);
  views.leave(view);
  const before = digests;
  await clock.advance(1_000);
  assert.equal(digests, before);
});
