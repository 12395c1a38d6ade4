/**
 * One client with many whole lists in flight, beside quiet tenants and leader elections: the quiet ones get all of their
 * answers, and no Lease is lost. How long they wait is for `npm run bench -- fairness`: here the bound is one that a busy
 * machine keeps.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { FairnessWorld } from "./world.ts";

const measureMs = 4_000;
const inFlight = 200;
/** Of client-go's electors: a leader that has not renewed for so long stops leading. */
const renewDeadlineMs = 10_000;
/** The bench asks for 2, of a machine that does nothing else. */
const ratioMax = 10;
/** Below, an undisturbed p99 is taken for this much: one collection of garbage is more than the rest. */
const quietFloorMs = 100;

suite("a flood of whole lists beside quiet tenants", () => {
  let world: FairnessWorld;
  before(async () => {
    world = await FairnessWorld.start({
      tenants: 50,
      elections: 10,
      objects: 600,
      objectBytes: 2_500,
    });
  });
  after(() => world.stop());

  test("the tenants are answered, none of them with 429, and every Lease is renewed", async () => {
    await world.undisturbed(1_000);
    const alone = await world.undisturbed(measureMs);
    const { quiet, flood } = await world.flooded(inFlight, measureMs);
    const seen = JSON.stringify({ alone, quiet, flood });
    assert.ok(flood.answered > 0, seen);
    assert.deepEqual([quiet.refused, quiet.failed], [0, 0], seen);
    assert.ok(quiet.renewals > 0 && quiet.renewalGapMs < renewDeadlineMs, seen);
    const bound = ratioMax * Math.max(alone.p99Ms, quietFloorMs);
    assert.ok(quiet.p99Ms <= bound, seen);
  });

  test("the same beside a client that waits for nobody: other limits of the server hold it", async () => {
    await world.exempt();
    const { quiet, flood } = await world.flooded(inFlight, measureMs);
    const seen = JSON.stringify({ quiet, flood });
    assert.ok(flood.answered > 0, seen);
    assert.deepEqual([quiet.refused, quiet.failed], [0, 0], seen);
    assert.ok(quiet.renewalGapMs < renewDeadlineMs, seen);
  });
});
