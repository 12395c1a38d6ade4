/** grpc-go's bandwidth pings: how long an answer is held, and that no other ping's ever is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { BandwidthPings } from "./bandwidth-pings.ts";

const ping = Buffer.of(2, 4, 16, 16, 9, 14, 7, 7);
const afterBytes = 32 * 1024;
const afterMs = 2000;

function make() {
  const clock = new FakeClock();
  const answers: Buffer[] = [];
  const pings = new BandwidthPings(clock, (payload) => void answers.push(payload));
  return { clock, answers, pings };
}

void test("a bandwidth ping is answered once, when enough was sent since", () => {
  const { answers, pings } = make();
  assert.equal(pings.take(ping), true);
  pings.sent(afterBytes - 1);
  assert.equal(answers.length, 0);
  pings.sent(1);
  pings.sent(afterBytes);
  assert.deepEqual(answers, [ping]);
});

void test("what was sent before the ping counts: a client that is sent much is answered at once", () => {
  const { answers, pings } = make();
  pings.sent(afterBytes);
  pings.take(ping);
  assert.equal(answers.length, 1);
  pings.take(ping);
  assert.equal(answers.length, 1, "counted anew after each answer");
});

void test("a quiet connection's ping is answered when its time is over, the next one too", async () => {
  const { clock, answers, pings } = make();
  for (const count of [1, 2]) {
    pings.take(ping);
    await clock.advance(afterMs - 1);
    assert.equal(answers.length, count - 1);
    await clock.advance(1);
    assert.equal(answers.length, count);
  }
  assert.deepEqual(clock.armed(), []);
});

void test("pings of other kinds are left to the caller", () => {
  const { answers, pings, clock } = make();
  const others = [Buffer.alloc(8), Buffer.of(2, 4, 16, 16, 9, 14, 7, 8), ping.subarray(0, 7)];
  for (const other of others) assert.equal(pings.take(other), false);
  assert.deepEqual([answers.length, clock.armed()], [0, []]);
});

void test("a connection that is gone keeps no timer and is sent nothing", async () => {
  const { clock, answers, pings } = make();
  pings.take(ping);
  pings.close();
  assert.deepEqual(clock.armed(), []);
  await clock.advance(afterMs);
  pings.sent(afterBytes);
  assert.equal(answers.length, 0);
});
