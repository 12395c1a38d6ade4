/** Stages beside hollow nodes: who writes what. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/gen/types.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createHollowNodes } from "./hollow.ts";
import { hollowDefaults } from "./options.ts";
import { bound, nodesRef, podsRef } from "./testing.ts";

test("with stages of Node and Pod this room writes leases, and no status of either", async () => {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  let seen = 0;
  const sink = {
    replace: () => {},
    apply: (events: readonly unknown[]) => void (seen += events.length),
  };
  const staging = { nodes: sink, pods: sink, has: () => true };
  const deps = { client: api, clock, random: new FakeRandom(5), log: silentLog, staging };
  const hollow = createHollowNodes(deps, { ...hollowDefaults, count: 1 });
  const stop = new AbortController();
  const running = hollow.run(stop.signal);
  await clock.advance(10);
  const { metadata } = api.put(podsRef, bound("web"));
  await clock.advance(15_000);
  assert.equal(api.peek<Node>(nodesRef, "", "hollow-0")?.status?.conditions, undefined);
  assert.ok(api.peek<Node>(nodesRef, "", "hollow-0")?.status?.capacity);
  assert.equal(api.calls.filter(({ verb }) => verb === "patch").length, 0);
  assert.ok(api.calls.some(({ resource, verb }) => resource === "leases" && verb === "update"));
  assert.ok(seen >= 1);
  const address = hollow.podAddress("hollow-0", false, metadata?.uid ?? "");
  assert.equal(address, "10.128.0.1");
  assert.equal(hollow.podAddress("hollow-0", false, metadata?.uid ?? ""), address);
  assert.equal(hollow.podAddress("hollow-0", true, ""), "10.0.0.1");
  stop.abort();
  await running;
});
