/** The watches of real nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startRig } from "./testing.ts";

test("two watches are shared; kubelets have 18 more each", async () => {
  const shared = await startRig({ count: 3 });
  await shared.clock.advance(1_000);
  assert.equal(shared.api.watchCount, 2);
  await shared.end();
  const rig = await startRig({ count: 3, watchShape: "kubelet" });
  await rig.clock.advance(1_000);
  assert.equal(rig.api.watchCount, 2 + 3 * 18);
  await rig.end();
  assert.equal(rig.api.watchCount, 0);
});
