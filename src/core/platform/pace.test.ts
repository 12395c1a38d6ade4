/** Long work of many requests: which goes on in which turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timer, TimerName } from "./clock.ts";
import { Pace } from "./pace.ts";
import { FakeClock } from "./testing/clock.ts";

/** Its turns are the host's: what a step does is done before the next one. */
class HostTurns extends FakeClock {
  override after(name: TimerName, delayMs: number, f: () => void): Timer {
    if (name !== "request.turn") return super.after(name, delayMs, f);
    this.turns++;
    const immediate = setImmediate(f);
    return { cancel: () => clearImmediate(immediate) };
  }
}

async function work(pace: Pace, steps: number, ended: () => void): Promise<void> {
  for (let at = 0; at < steps; at++) await pace.turn();
  ended();
}

test("one step goes on per turn, of a caller's requests the oldest until it ends", async () => {
  const clock = new HostTurns();
  const ended: number[] = [];
  const all = [0, 1, 2].map(() => work(new Pace(clock, "one"), 5, () => ended.push(clock.turns)));
  await Promise.all(all);
  assert.deepEqual(
    ended.map((turns) => Math.round(turns / 5)),
    [1, 2, 3],
  );
});

test("a caller with one request does not wait for another with fifty", async () => {
  const clock = new HostTurns();
  let greedyEnded = 0;
  const greedy = Array.from({ length: 50 }, () =>
    work(new Pace(clock, "greedy"), 10, () => greedyEnded++),
  );
  let before = 0;
  const quiet = work(new Pace(clock, "quiet"), 10, () => (before = greedyEnded));
  await Promise.all([...greedy, quiet]);
  assert.ok(before <= 2, `${before} of the greedy one ended before`);
  assert.equal(greedyEnded, 50);
});

test("requests whose bodies end at once after a long wait go on one per turn", async () => {
  const clock = new HostTurns();
  const asked: string[] = [];
  const listener = { rests: (waitsFor: string) => asked.push(waitsFor), goesOn: () => {} };
  const bodies = Promise.withResolvers<void>();
  const all = [0, 1, 2].map(() => new Pace(clock, "one", listener).outside(bodies.promise));
  clock.tick(20);
  bodies.resolve();
  await Promise.all(all);
  assert.equal(clock.turns, 3);
  assert.deepEqual(asked.slice(0, 3), ["outside", "outside", "outside"]);
  await new Pace(clock, "one", listener).outside(Promise.resolve());
  assert.equal(clock.turns, 3, "a body that came with its head takes no turn of its own");
});
