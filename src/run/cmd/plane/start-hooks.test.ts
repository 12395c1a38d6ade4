/** The checks of the start, as its stages end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StartHooks } from "./start-hooks.ts";

test("a start check fails until its stage is finished", () => {
  const hooks = new StartHooks();
  const failing = (): readonly string[] =>
    hooks.checks.filter((one) => one.check() === "not finished").map(({ name }) => name);
  assert.equal(failing().length, hooks.checks.length);
  hooks.finish("caches");
  assert.ok(failing().includes("poststarthook/rbac/bootstrap-roles"));
  assert.ok(!failing().includes("poststarthook/crd-informer-synced"));
  hooks.finish("objects");
  assert.ok(failing().every((name) => /apiservice-|kube-aggregator/.test(name)));
  hooks.finish("aggregation");
  assert.deepEqual(failing(), []);
});
