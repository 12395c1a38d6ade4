/** When a commit holds the loop, and when it goes by the host's threads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { Pace } from "./pace.ts";

/** A pace after enough fast lone writes that the next one goes at once, from `nowMs` on. */
function lonePace(nowMs: number): Pace {
  const pace = new Pace();
  for (let i = 0; i < 3; i++) pace.wrote(pace.choose(1, nowMs), nowMs, nowMs + 0.1);
  assert.equal(pace.choose(1, nowMs), "at once");
  return pace;
}

void test("one writer alone is written at once after a few fast lone commits, and a crowd never", () => {
  const pace = lonePace(0);
  assert.equal(pace.choose(2, 1), "by threads");
  assert.equal(pace.choose(1, 2), "by threads", "one lone batch is no lone writer yet");
});

void test("after a slow write at once the threads write for twenty times as long, and until they are fast", () => {
  const pace = lonePace(0);
  pace.wrote("at once", 0, 5);
  assert.equal(pace.choose(1, 6), "by threads");
  pace.wrote("by threads", 6, 6.2);
  assert.equal(pace.choose(1, 104), "by threads");
  pace.wrote("by threads", 104, 109);
  assert.equal(pace.choose(1, 109), "by threads", "the threads were slow the last time");
  pace.wrote("by threads", 109, 109.2);
  assert.equal(pace.choose(1, 110), "at once");
});

void test("whatever the disk does, slow writes hold the loop for at most a twentieth of the time, and one write", () => {
  const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 7);
  const random = new FakeRandom(seed);
  const pace = new Pace();
  let [nowMs, heldMs, longestMs] = [0, 0, 0];
  for (let i = 0; i < 20_000; i++) {
    const way = pace.choose(1, nowMs);
    const tookMs = random.chance(0.1) ? 1 + random.below(50) : random.below(10) / 10;
    pace.wrote(way, nowMs, nowMs + tookMs);
    nowMs += tookMs;
    if (way === "at once" && tookMs > 1) heldMs += tookMs;
    if (way === "at once") longestMs = Math.max(longestMs, tookMs);
  }
  assert.ok(longestMs > 1, `seed ${seed}: no slow write was ever met`);
  assert.ok(heldMs <= nowMs / 20 + longestMs, `seed ${seed}: ${heldMs} of ${nowMs} ms`);
});
