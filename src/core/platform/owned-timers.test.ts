/** Timers that end with their owner. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OwnedTimers } from "./owned-timers.ts";
import { FakeClock } from "./testing/clock.ts";

test("armed timers are cancelled at the owner's end, and none is armed afterwards", async () => {
  const clock = new FakeClock();
  const timers = new OwnedTimers(clock);
  const fired: string[] = [];
  timers.after("store.compact", 1, () => fired.push("first"));
  timers.after("store.compact", 9, () => fired.push("late"));
  timers.after("store.lease", 1, () => fired.push("given up")).cancel();
  await clock.advance(1);
  assert.deepEqual(timers.armed, ["store.compact"]);
  timers.cancelAll();
  timers.after("store.compact", 1, () => fired.push("after the end"));
  await clock.advance(99);
  assert.deepEqual(fired, ["first"]);
  assert.deepEqual([timers.armed.length, clock.timers().length], [0, 0]);
});
