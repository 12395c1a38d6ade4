/** Silence, budget and fence, on clocks that run as they like. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { FenceAuthority, FenceHolder } from "./fence.ts";
import { MoveBudget } from "./move-budget.ts";
import { hasQuorum, RegionHealth, standingOf } from "./region-health.ts";

test("a region is Unknown after its time of silence, and Ready at its next answer", () => {
  const health = new RegionHealth(0, 40);
  assert.equal(health.state, "Joining");
  health.answered(1);
  for (let now = 10; now <= 40; now += 10) health.look(now);
  assert.equal(health.state, "Ready");
  health.look(41);
  assert.equal(health.state, "Unknown");
  health.answered(42);
  assert.equal(health.state, "Ready");
});

test("a coordinator that was paused counts no silence for the pause", () => {
  const health = new RegionHealth(0, 40);
  health.answered(1);
  health.look(1_000);
  assert.equal(health.state, "Ready");
});

test("a region is given up after the policy's time, or at once by an operator, and never without a quorum", () => {
  const unknown = { state: "Unknown" as const, silentMs: 300, order: "none" as const };
  const after = { afterMs: 300, isQuorum: true };
  assert.equal(standingOf(unknown, after), "closed");
  assert.equal(standingOf({ ...unknown, silentMs: 299 }, after), "silent");
  assert.equal(standingOf(unknown, { ...after, isQuorum: false }), "silent");
  assert.equal(standingOf(unknown, { afterMs: undefined, isQuorum: true }), "silent");
  assert.equal(standingOf({ ...unknown, silentMs: 0, order: "lost" }, after), "closed");
  assert.equal(standingOf({ state: "Ready", silentMs: 0, order: "drain" }, after), "closed");
  assert.equal(hasQuorum(["Ready", "Unknown"]), true);
  assert.equal(hasQuorum(["Ready", "Unknown", "Unknown"]), false);
});

test("the budget moves its burst, then its rate, and never more than a share of the room", () => {
  const clock = new FakeClock();
  const budget = new MoveBudget(clock, { podsPerSecond: 2, burst: 10, shareOfRoom: 0.5 });
  assert.equal(budget.take(100, 12), 6);
  assert.equal(budget.take(100, undefined), 4);
  assert.equal(budget.take(1, undefined), 0);
  assert.equal(budget.waitMs(), 500);
  clock.tick(1_000);
  assert.equal(budget.take(100, undefined), 2);
  assert.equal(budget.take(5, 0), 0);
});

test("a fence that is up is over only when the region has stopped, whatever clocks and messages do", () => {
  const times = { leaseMs: 1_000, driftShare: 0.1, stopMs: 50 };
  for (let seed = 1; seed <= 300; seed++) {
    const random = new FakeRandom(seed);
    // Rates within 10 % of each other; offsets of any size.
    const rate = 0.95 + random.below(100) / 1_000;
    const regionNow = (real: number): number => 7_000_000 + real * rate;
    const holder = new FenceHolder(times);
    let authority = new FenceAuthority(times, 0);
    let challenge = "";
    const grants: { readonly at: number; readonly nonce: string }[] = [];
    const revokeAt = random.below(5_000);
    for (let real = 0; real < 12_000; real += 10) {
      if (random.below(20) === 0) challenge = holder.challenge(`${real}`, regionNow(real));
      // The coordinator may have read an older challenge, and its grant may arrive at any later time.
      if (random.below(25) === 0 && challenge !== "") {
        const nonce = authority.answer(challenge, real);
        if (nonce !== undefined) grants.push({ at: real + random.below(3_000), nonce });
      }
      if (real === 2_000 && random.below(2) === 0) authority = new FenceAuthority(times, real);
      if (real >= revokeAt) authority.revoke();
      for (const grant of grants) if (grant.at <= real) holder.granted(grant.nonce);
      assert.ok(
        !(authority.isOver(real) && holder.holds(regionNow(real))),
        `seed ${seed} at ${real}`,
      );
    }
    assert.equal(authority.isOver(12_000), true);
  }
});

test("planted: an authority that does not wait for the drift of clocks is found", () => {
  const times = { leaseMs: 1_000, driftShare: 0, stopMs: 0 };
  const holder = new FenceHolder(times);
  const authority = new FenceAuthority(times, 0);
  // The region's clock runs 10 % slow.
  holder.granted(authority.answer(holder.challenge("a", 0), 0) ?? "");
  authority.revoke();
  assert.equal(authority.isOver(1_050) && holder.holds(1_050 * 0.9), true);
});

test("a challenge of another holder, or of long ago, grants nothing", () => {
  const holder = new FenceHolder({ leaseMs: 1_000 });
  holder.granted("of somebody else");
  assert.equal(holder.holds(0), false);
  holder.challenge("old", 0);
  for (let i = 0; i < 100; i++) holder.challenge(`${i}`, 10);
  holder.granted("old");
  assert.equal(holder.holds(20), false);
});
