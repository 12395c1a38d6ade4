/** Paths that are no resources: a large page of metrics does not hold the loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimerName } from "#platform/clock.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { ask, openPlaneOn, statusOf, withPlane } from "./testing/plane.ts";

test("a page of metrics is written in turns of the loop: one for each half of a megabyte", async () => {
  const clock = new FakeClock();
  let turns = 0;
  const counting = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after(name: TimerName, delayMs: number, f: () => void) {
      if (name === "request.turn") turns++;
      return clock.after(name, delayMs, f);
    },
  };
  const plane = await openPlaneOn(counting);
  const histogram = plane.metrics.histogram("test_seconds", "Times.", ["name"], [1, 2, 3]);
  for (let i = 0; i < 5_000; i++) histogram.observe([`${i}`.padStart(200, "0")], i % 5);
  turns = 0;
  const { status, text } = await ask(plane, "GET", "/metrics");
  assert.equal(status, 200);
  assert.ok(text.length > 6e6, `${text.length} characters`);
  assert.ok(turns >= 11 && turns <= 14, `${turns} turns`);
  await plane.close();
});

test("the issuer's documents are only read", () =>
  withPlane(
    async (plane) => {
      for (const path of ["/.well-known/openid-configuration", "/openid/v1/jwks"]) {
        assert.equal((await ask(plane, "GET", path)).status, 200);
        for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const) {
          const answer = await ask(plane, method, path);
          assert.equal(answer.status, 405, `${method} ${path}`);
          assert.equal(statusOf(answer).reason, "MethodNotAllowed");
        }
      }
    },
    { issuer: () => ({ discovery: {}, keys: { keys: [] } }) },
  ));
