/** The watchdog: what it takes for being stuck, and what it does not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { internalError } from "#api/status.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "./testing.ts";
import { whenStuck } from "./watchdog.ts";

const idle = { active: 0, bindsInFlight: 0, decisions: 0, bound: 0, bindErrors: 0 };
const longMs = 240_000;

/** What it said within `longMs`, while `figures` are asked with the number of the look; "" when nothing. */
async function saidOf(figures: (look: number) => Partial<typeof idle>): Promise<string> {
  const clock = new FakeClock();
  const stop = new AbortController();
  let said = "";
  let look = 0;
  whenStuck(clock, () => ({ ...idle, ...figures(look++) }), stop.signal).catch((error: Error) => {
    said = error.message;
  });
  await clock.advance(longMs);
  stop.abort();
  return said;
}

test("work that is held and never finished is being stuck", async () => {
  const said = await saidOf(() => ({ active: 3, bindsInFlight: 256 }));
  assert.match(
    said,
    /^the scheduler finished nothing for 120 s with 3 pods to decide and 256 binds/,
  );
  assert.match(await saidOf(() => ({ bindsInFlight: 1 })), /finished nothing/);
});

test("no work, slow work and errors are not", async () => {
  assert.equal(await saidOf(() => ({})), "");
  assert.equal(await saidOf((look) => ({ active: 1, decisions: Math.floor(look / 10) })), "");
  assert.equal(await saidOf((look) => ({ bindsInFlight: 256, bindErrors: look })), "");
  assert.equal(await saidOf((look) => ({ active: look % 11 })), "", "idle in between");
});

test("it looks no more when its term has ended", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let looks = 0;
  const figures = () => ({ ...idle, active: 1, decisions: looks++ });
  whenStuck(clock, figures, stop.signal).catch(() => assert.fail("it is not stuck"));
  stop.abort();
  const before = looks;
  await clock.advance(longMs);
  assert.equal(looks, before);
});

for (const [name, isStuck] of [
  ["binds whose answers never come", true],
  ["binds that are refused", false],
] as const) {
  test(`a scheduler with ${name} is ${isStuck ? "" : "not "}stuck`, async () => {
    const rig = await startRig((api) => {
      api.put(nodesRef, makeNode("n", { cpu: "64" }));
      const isBind = ({ subresource }: { readonly subresource: string }) =>
        subresource === "binding";
      if (isStuck) api.block(isBind);
      else api.fail(isBind, internalError("no"), 1_000);
      api.put(podsRef, makePod("p", { cpu: "1" }));
    });
    let said = "";
    const stop = new AbortController();
    whenStuck(rig.clock, () => rig.scheduler.metrics(), stop.signal).catch((error: Error) => {
      said = error.message;
    });
    for (let i = 0; i < 30; i++) await rig.clock.advance(10_000);
    assert.equal(said !== "", isStuck, said);
    stop.abort();
  });
}
