/** Streams share the turns of the loop: by time, and by caller. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock, Timer, TimerName } from "#platform/clock.ts";
import { StreamTurns } from "./stream-turns.ts";

/** Time passes by hand, and turns run one at a time on demand. */
class StepClock implements Clock {
  ms = 0;
  readonly #turns: (() => void)[] = [];

  nowMs(): number {
    return this.ms;
  }

  monotonicMs(): number {
    return this.ms;
  }

  after(_name: TimerName, _delayMs: number, f: () => void): Timer {
    this.#turns.push(f);
    return { cancel: () => {} };
  }

  /** @returns false: nobody asked for one. */
  turn(): boolean {
    const due = this.#turns.splice(0);
    for (const f of due) f();
    return due.length > 0;
  }
}

test("a turn begins no batch after its time, and the next one has time again", () => {
  const clock = new StepClock();
  const turns = new StreamTurns(clock);
  assert.equal(turns.hasTime(), true);
  clock.ms += 9;
  assert.equal(turns.hasTime(), true);
  clock.ms += 1;
  assert.equal(turns.hasTime(), false);
  assert.equal(clock.turn(), true);
  assert.equal(turns.hasTime(), true);
  clock.turn();
  assert.equal(clock.turn(), false, "a process at rest has no turns");
});

test("a crowd that waits goes on over turns, everyone once, and time is left for what comes", () => {
  const clock = new StepClock();
  const turns = new StreamTurns(clock);
  const told: number[] = [];
  for (let at = 0; at < 100; at++) {
    turns.later({}, "crowd", () => {
      told.push(at);
      clock.ms += 1;
    });
  }
  for (let before = 0; told.length < 100; before = told.length) {
    assert.equal(clock.turn(), true);
    assert.ok(told.length - before <= 6, `${told.length - before} ms of a turn`);
    assert.equal(turns.hasTime(), true);
  }
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  );
});

test("a stream of another caller does not wait for a crowd's", () => {
  const clock = new StepClock();
  const turns = new StreamTurns(clock);
  const told: string[] = [];
  const later = (caller: string): void =>
    turns.later({}, caller, () => {
      told.push(caller);
      clock.ms += 1;
    });
  for (let at = 0; at < 100; at++) later("crowd");
  later("quiet");
  clock.turn();
  assert.ok(told.indexOf("quiet") >= 0, told.join(" "));
});
