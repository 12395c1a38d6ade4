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

test("tells a schema whether its priority level exists, and when that changes", () =>
  withPlane(async (plane) => {
    const { catalog } = plane.server;
    const keeper = new FlowControlKeeper({ catalog, clock: plane.clock, log: silentLog });
    keeper.start();
    await settled(plane);
    const group = "/apis/flowcontrol.apiserver.k8s.io/v1";
    const dangling = async (name: string): Promise<string> => {
      const { json } = await ask(plane, "GET", `${group}/flowschemas/${name}`);
      const { conditions = [] } = (json["status"] ?? {}) as { conditions?: { type: string }[] };
      assert.equal(conditions.length, 1, name);
      const { type, lastTransitionTime, ...condition } = conditions[0] as Record<string, string>;
      assert.equal(type, "Dangling");
      assert.ok(lastTransitionTime);
      return Object.values(condition).join("; ");
    };
    const names = 'This FlowSchema references the PriorityLevelConfiguration object named "mine"';
    const missing = `True; NotFound; ${names} but there is no such object`;
    assert.match(await dangling("catch-all"), /^False; Found; .*"catch-all" and it exists$/);
    const schema = { priorityLevelConfiguration: { name: "mine" }, matchingPrecedence: 7 };
    const body = { metadata: { name: "ours" }, spec: schema };
    assert.equal((await ask(plane, "POST", `${group}/flowschemas`, { body })).status, 201);
    await settled(plane);
    assert.equal(await dangling("ours"), missing);
    const limited = { limitResponse: { type: "Reject" }, nominalConcurrencyShares: 1 };
    const level = { metadata: { name: "mine" }, spec: { type: "Limited", limited } };
    const levels = `${group}/prioritylevelconfigurations`;
    assert.equal((await ask(plane, "POST", levels, { body: level })).status, 201);
    await settled(plane);
    assert.equal(await dangling("ours"), `False; Found; ${names} and it exists`);
    assert.equal((await ask(plane, "DELETE", `${levels}/mine`)).status, 200);
    await settled(plane);
    assert.equal(await dangling("ours"), missing);
    await keeper.close();
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
