/** The timer wheel: one turn per round and member. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Wheel } from "./wheel.ts";

function setup() {
  const clock = new FakeClock();
  const turns = new Map<string, number[]>();
  const turn = (member: string): void => {
    turns.set(member, [...(turns.get(member) ?? []), clock.monotonicMs()]);
  };
  const wheel = new Wheel<string>({ clock, random: new FakeRandom(9) }, { roundMs: 10_000, turn });
  return { clock, turns, wheel };
}

test("every member has its turn once a round, at a phase of its own", async () => {
  const { clock, turns, wheel } = setup();
  const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
  for (const name of names) wheel.add(name);
  wheel.start();
  await clock.advance(30_000);
  for (const name of names) {
    const times = turns.get(name) ?? [];
    assert.equal(times.length, 3, name);
    assert.equal((times[1] ?? 0) - (times[0] ?? 0), 10_000);
  }
  assert.ok(new Set(names.map((name) => turns.get(name)?.[0])).size > 20);
  wheel.stop();
  assert.deepEqual(clock.armed(), []);
});

test("members may come late and leave; an empty wheel sleeps", async () => {
  const { clock, turns, wheel } = setup();
  wheel.start();
  assert.deepEqual(clock.armed(), []);
  await clock.advance(12_345);
  wheel.add("late");
  await clock.advance(10_000);
  assert.equal(turns.get("late")?.length, 1);
  wheel.delete("late");
  await clock.advance(30_000);
  assert.equal(turns.get("late")?.length, 1);
});
