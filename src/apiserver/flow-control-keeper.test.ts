/** The keeper of mandatory flow control: one run at a time, at once after a loss, and again after a refusal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { ensureFlowControl } from "./bootstrap.ts";
import { FlowControlKeeper } from "./flow-control-keeper.ts";
import { ask, type Plane, withPlane } from "./testing/plane.ts";

const exempt = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt";

/** Until nothing is left to be done without time passing. */
async function settled(plane: Plane): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await plane.clock.advance(0);
}

test("makes what is missing, puts back what is deleted, and rests meanwhile", () =>
  withPlane(async (plane) => {
    const { catalog } = plane.server;
    const lookups = { count: 0 };
    const counting = {
      infos: () => catalog.infos(),
      find: (...path: Parameters<typeof catalog.find>) => {
        lookups.count++;
        return catalog.find(...path);
      },
    };
    const deps = { catalog: counting, clock: plane.clock, log: silentLog };
    await ensureFlowControl(deps);
    lookups.count = 0;
    const keeper = new FlowControlKeeper(deps);
    keeper.start();
    await settled(plane);
    assert.equal((await ask(plane, "GET", exempt)).status, 200);
    const before = lookups.count;
    assert.ok(before < 200, `one run at a time, but ${before} looks`);
    await settled(plane);
    assert.equal(lookups.count, before, "nothing is due");
    assert.equal((await ask(plane, "DELETE", exempt)).status, 200);
    await settled(plane);
    assert.equal((await ask(plane, "GET", exempt)).status, 200, "it came back at once");
    await plane.clock.advance(60_000);
    await settled(plane);
    assert.ok(lookups.count > before, "looked again after a minute");
    await keeper.close();
    assert.equal((await ask(plane, "DELETE", exempt)).status, 200);
    await settled(plane);
    assert.equal((await ask(plane, "GET", exempt)).status, 404, "a closed keeper does nothing");
  }));

test("tries again after a refusal", () =>
  withPlane(async (plane) => {
    const { catalog } = plane.server;
    let isBroken = true;
    const breaking = {
      infos: () => catalog.infos(),
      find: (...path: Parameters<typeof catalog.find>) => {
        if (isBroken) throw new Error("the disk is gone");
        return catalog.find(...path);
      },
    };
    const keeper = new FlowControlKeeper({
      catalog: breaking,
      clock: plane.clock,
      log: silentLog,
    });
    keeper.start();
    await settled(plane);
    assert.equal((await ask(plane, "GET", exempt)).status, 404);
    isBroken = false;
    await plane.clock.advance(1_000);
    await settled(plane);
    assert.equal((await ask(plane, "GET", exempt)).status, 200);
    await keeper.close();
  }));
