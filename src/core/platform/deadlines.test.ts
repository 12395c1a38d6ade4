/** Deadlines against a plain timer each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "./testing/random.ts";
import { FakeClock } from "./testing/clock.ts";
import { Deadlines } from "./deadlines.ts";

const stepMs = 100;

test("each member expires once, never early and at most a step late, unless it was deleted", async () => {
  const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 1_000_000);
  const random = new FakeRandom(seed);
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock, { name: "server.watch", stepMs });
  const members = Array.from({ length: 500 }, () => {
    const delayMs = random.below(5_000);
    const member = { dueMs: 0, atMs: -1, times: 0, deleted: false, expire: () => {} };
    member.expire = () => {
      member.times++;
      member.atMs = clock.monotonicMs();
    };
    return { member, delayMs, step: 0 };
  });
  for (const entry of members) {
    entry.member.dueMs = clock.monotonicMs() + entry.delayMs;
    entry.step = deadlines.add(entry.member, entry.delayMs);
    const victim = members[random.below(members.length)];
    if (victim !== undefined && victim.step > 0 && random.below(4) === 0) {
      victim.member.deleted ||= victim.member.times === 0;
      deadlines.delete(victim.member, victim.step);
    }
    await clock.advance(random.below(20));
  }
  assert.ok(clock.timers().length <= 1, "one timer for all");
  await clock.advance(10_000);
  for (const { member } of members) {
    assert.equal(member.times, member.deleted ? 0 : 1, `seed ${seed}`);
    if (member.deleted) continue;
    assert.ok(member.atMs >= member.dueMs && member.atMs <= member.dueMs + stepMs, `seed ${seed}`);
  }
  assert.deepEqual(clock.timers(), [], "nobody is waited for");
});
