/** The fake clock: time passes on command, and in order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../clock.ts";
import { FakeClock, settle } from "./clock.ts";

void test("timers fire in order of time, ties in order of setting, cancelled ones never", () => {
  const clock = new FakeClock();
  const fired: string[] = [];
  clock.after("store.lease", 20, () => fired.push("late"));
  clock.after("watch.flush", 10, () => fired.push("first"));
  clock.after("watch.flush", 10, () => fired.push("second"));
  clock.after("sim.step", 5, () => fired.push("never")).cancel();
  assert.deepEqual(clock.timers(), [
    { name: "watch.flush", dueMs: 10 },
    { name: "watch.flush", dueMs: 10 },
    { name: "store.lease", dueMs: 20 },
  ]);
  clock.tick(15);
  assert.deepEqual(fired, ["first", "second"]);
  assert.equal(clock.monotonicMs(), 15);
  clock.tick(5);
  assert.deepEqual(fired, ["first", "second", "late"]);
});

void test("a timer can be fired by name out of turn", () => {
  const clock = new FakeClock();
  let fired = 0;
  clock.after("watch.flush", 10, () => assert.fail());
  clock.after("store.lease", 1000, () => fired++);
  assert.equal(clock.fire("store.lease"), true);
  assert.equal(clock.fire("store.lease"), false);
  assert.deepEqual([fired, clock.monotonicMs()], [1, 1000]);
});

void test("advance lets sleepers wake and sleep again within one span", async () => {
  const clock = new FakeClock({ startMs: 0 });
  const woke: number[] = [];
  const loop = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await sleep(clock, "sim.step", 10, new AbortController().signal);
      woke.push(clock.nowMs());
    }
  };
  const done = loop();
  await clock.advance(100);
  await done;
  assert.deepEqual(woke, [10, 20, 30]);
  clock.jumpWall(-50);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [50, 100]);
});

void test("what is due is known by name and time, and the wall clock is set without time passing", () => {
  const clock = new FakeClock({ startMs: 500 });
  assert.deepEqual([clock.armed(), clock.nextMs()], [[], undefined]);
  clock.after("client.delay", 30, () => undefined);
  clock.tick(10);
  clock.setWall(7);
  assert.deepEqual([clock.armed(), clock.nextMs()], [["client.delay"], 20]);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [7, 10]);
});

void test("a look at the time may cost time, so that work with a deadline ends", () => {
  const clock = new FakeClock({ readMs: 0.5 });
  let looks = 0;
  for (const startMs = clock.monotonicMs(); clock.monotonicMs() < startMs + 10;) looks++;
  assert.equal(looks, 19);
});

void test("a turn of the loop comes by itself, and is counted", async () => {
  const clock = new FakeClock();
  let turned = 0;
  clock.after("request.turn", 0, () => turned++);
  clock.after("request.turn", 0, () => turned++).cancel();
  assert.deepEqual(clock.timers(), []);
  await settle();
  assert.deepEqual([turned, clock.turns, clock.monotonicMs()], [1, 2, 0]);
});
