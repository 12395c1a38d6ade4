/** When a job runs, and that none waits for another's answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { Rounds } from "./rounds.ts";

const times = { everyMs: 30_000, retryMs: 5, retryMsMax: 20 };
const options = { timer: "aggregation.check", atOnceMax: 2, ...times } as const;

function world(run: (key: string) => Promise<boolean>) {
  const clock = new FakeClock();
  const ran: string[] = [];
  const rounds = new Rounds(
    {
      clock,
      run: (key) => {
        ran.push(key);
        return run(key);
      },
    },
    options,
  );
  return { clock, ran, rounds };
}

test("a job that went well runs again after its time, not before", async () => {
  const { clock, ran, rounds } = world(() => Promise.resolve(true));
  rounds.due("a");
  await clock.advance(29_999);
  assert.deepEqual(ran, ["a"]);
  await clock.advance(1);
  assert.deepEqual(ran, ["a", "a"]);
  await rounds.close();
});

test("a job that failed runs again soon, and ever later up to a bound", async () => {
  const { clock, ran, rounds } = world(() => Promise.resolve(false));
  rounds.due("a");
  const counts: number[] = [];
  for (const ms of [0, 5, 10, 20, 20]) {
    await clock.advance(ms);
    counts.push(ran.length);
  }
  assert.deepEqual(counts, [1, 2, 3, 4, 5]);
  await rounds.close();
});

test("a key that comes due while it runs, runs once more, and never twice at once", async () => {
  const ends: (() => void)[] = [];
  const { clock, ran, rounds } = world(
    () => new Promise((resolve) => ends.push(() => resolve(true))),
  );
  rounds.due("a");
  rounds.due("a");
  rounds.due("a");
  assert.deepEqual(ran, ["a"]);
  ends[0]?.();
  await clock.advance(0);
  assert.deepEqual(ran, ["a", "a"]);
  ends[1]?.();
  await clock.advance(0);
  assert.deepEqual(ran, ["a", "a"]);
  await rounds.close();
});

test("as many run at once as may; the next starts when one ends, in the order they came due", async () => {
  const ends = new Map<string, () => void>();
  const { clock, ran, rounds } = world(
    (key) => new Promise((resolve) => ends.set(key, () => resolve(true))),
  );
  for (const key of ["a", "b", "c", "d"]) rounds.due(key);
  assert.deepEqual(ran, ["a", "b"]);
  ends.get("b")?.();
  await clock.advance(0);
  assert.deepEqual(ran, ["a", "b", "c"]);
  rounds.forget("d");
  ends.get("a")?.();
  await clock.advance(60_000);
  assert.ok(!ran.includes("d"));
  for (const end of ends.values()) end();
  await rounds.close();
});

test("a forgotten key and a closed room arm no timer", async () => {
  const { clock, ran, rounds } = world(() => Promise.resolve(true));
  rounds.due("a");
  await clock.advance(0);
  rounds.forget("a");
  rounds.due("b");
  await rounds.close();
  rounds.due("c");
  await clock.advance(120_000);
  assert.deepEqual(ran, ["a", "b"]);
});
