/** A metrics server that is installed is asked instead of what this process knows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lister } from "#api/lister.ts";
import { noDelegates, type Delegate, type Delegates } from "#apiserver/delegates.ts";
import { withHollowMetrics } from "./hollow-metrics.ts";

const nothing: Lister = { get: () => undefined, list: () => [] };
const remote: Delegate = { serve: () => Promise.reject(new Error("not asked")) };

test("metrics.k8s.io is here where no APIService leads to another server", () => {
  const alone = withHollowMetrics(noDelegates, nothing);
  assert.equal(alone.size, 1);
  assert.equal(alone.find("metrics.k8s.io", "v1beta2"), undefined);
  assert.equal(alone.find("apps", "v1"), undefined);
  assert.notEqual(alone.find("metrics.k8s.io", "v1beta1"), undefined);
  assert.deepEqual(
    alone.versions().map(({ group, version }) => `${group}/${version}`),
    ["metrics.k8s.io/v1beta1"],
  );
});

test("an APIService for it wins, and is described once", () => {
  const row = {
    group: "metrics.k8s.io",
    version: "v1beta1",
    groupPriority: 100,
    versionPriority: 100,
    resources: [],
    isStale: true,
  };
  const others: Delegates = {
    ...noDelegates,
    size: 1,
    find: (group) => (group === "metrics.k8s.io" ? remote : undefined),
    versions: () => [row],
  };
  const both = withHollowMetrics(others, nothing);
  assert.equal(both.find("metrics.k8s.io", "v1beta1"), remote);
  assert.deepEqual(both.versions(), [row]);
});
