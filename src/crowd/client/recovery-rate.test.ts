/** How the rate follows the answers of a server, on a clock the test moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { RecoveryRate } from "./recovery-rate.ts";

const limits = { firstPerSecond: 100, leastPerSecond: 5, mostPerSecond: 200 };

test("refusals for load halve the rate, once for those of one moment, and never below the least", async () => {
  const clock = new FakeClock();
  const rate = new RecoveryRate(clock, limits);
  for (let at = 0; at < 50; at++) rate.overloaded();
  assert.deepEqual([rate.perSecond, rate.reason], [50, "overloaded"]);
  for (let at = 0; at < 20; at++) {
    await clock.advance(600);
    rate.overloaded();
  }
  assert.equal(rate.perSecond, 5);
});

test("slow answers cut the rate at once; fast ones grow it only while pods wait, up to the most", async () => {
  const clock = new FakeClock();
  const rate = new RecoveryRate(clock, limits);
  for (let at = 0; at < 10; at++) rate.answered(at < 8 ? 100 : 900);
  assert.deepEqual([Math.round(rate.perSecond), rate.reason], [70, "slow answers"]);
  await clock.advance(1_100);
  for (let at = 0; at < 20; at++) rate.answered(20);
  assert.equal(Math.round(rate.perSecond), 70, "nobody waited");
  for (let second = 0; second < 20; second++) {
    rate.waited();
    await clock.advance(1_100);
    for (let at = 0; at < 20; at++) rate.answered(20);
  }
  assert.deepEqual([rate.perSecond, rate.reason], [200, "headroom"]);
});

test("answers neither fast nor slow leave the rate as it is", async () => {
  const clock = new FakeClock();
  const rate = new RecoveryRate(clock, limits);
  for (let second = 0; second < 5; second++) {
    rate.waited();
    await clock.advance(1_100);
    for (let at = 0; at < 20; at++) rate.answered(350);
  }
  assert.equal(rate.perSecond, 100);
});

test("turns of a shared loop that come late cut the rate, however fast the answers are, and it grows only once they are prompt", async () => {
  const clock = new FakeClock();
  const rate = new RecoveryRate(clock, limits);
  const second = async (lagMs: number): Promise<number> => {
    rate.waited();
    await clock.advance(1_100);
    for (let at = 0; at < 10; at++) rate.lagged(at < 3 ? lagMs : 0);
    for (let at = 0; at < 20; at++) rate.answered(5);
    return Math.round(rate.perSecond);
  };
  assert.deepEqual([await second(80), rate.reason], [70, "slow loop"]);
  assert.equal(await second(40), 70, "neither late nor prompt");
  assert.deepEqual([await second(0), rate.reason], [88, "headroom"]);
});
