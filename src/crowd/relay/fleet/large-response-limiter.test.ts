/** Large responses are admitted by bytes; rejected clients return spread over time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiError } from "#api/status.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { LargeResponseLimiter } from "./large-response-limiter.ts";

const limits = { largeBytesInFlightMax: 100, largeAnswerBytesMin: 10 };

function openLimiter(): { gate: LargeResponseLimiter; clock: FakeClock } {
  const clock = new FakeClock();
  return { gate: new LargeResponseLimiter({ clock, random: new FakeRandom(1) }, limits), clock };
}

function retryAfter(enter: () => unknown): number {
  try {
    enter();
  } catch (error) {
    const { code, details } = (error as ApiError).status;
    assert.equal(code, 429);
    return details?.retryAfterSeconds ?? 0;
  }
  return 0;
}

void describe("a crowd of large answers", () => {
  void it("enters while there is room, and again when somebody has left", () => {
    const { gate } = openLimiter();
    const leave = gate.enter(60);
    gate.enter(40);
    assert.ok(retryAfter(() => gate.enter(20)) >= 1);
    leave();
    leave();
    assert.equal(gate.bytes, 40, "leaving twice counts once");
    gate.enter(60);
    assert.deepEqual([gate.admitted, gate.refused], [3, 1]);
  });

  void it("lets small answers pass and one that is larger than the limit come alone", () => {
    const { gate } = openLimiter();
    const leave = gate.enter(1_000);
    gate.enter(9);
    assert.equal(gate.bytes, 1_000);
    assert.ok(retryAfter(() => gate.enter(10)) >= 1);
    leave();
    gate.enter(10);
  });

  void it("spreads those it turns away over the time that serving them takes", () => {
    const { gate, clock } = openLimiter();
    gate.enter(100);
    const crowd = Array.from({ length: 400 }, () => retryAfter(() => gate.enter(50)));
    assert.ok(
      crowd.every((seconds) => seconds >= 1 && seconds <= 30),
      String(crowd),
    );
    assert.ok(new Set(crowd.slice(200)).size > 15, "they do not come back together");
    clock.tick(60_000);
    assert.ok(retryAfter(() => gate.enter(50)) <= 2, "a crowd that has gone is forgotten");
  });
});
