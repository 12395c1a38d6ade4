/** Discovery of this server and of others in one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import { allSteps } from "#base/steps.ts";
import { mergedAggregated, mergedGroup, mergedGroupList, type RemoteVersion } from "./merged.ts";

function remote(group: string, version: string, priority: number, more = {}): RemoteVersion {
  const priorities = { groupPriority: priority, versionPriority: 15 };
  return { group, version, ...priorities, resources: [], isStale: false, ...more };
}

const remotes = [
  remote("metrics.k8s.io", "v1beta1", 100),
  remote("top.example.com", "v1", 17_850),
  remote("two.example.com", "v1alpha1", 1_500),
  remote("two.example.com", "v1", 900),
];

test("groups stand by the highest priority of their versions, then by name; versions by theirs, then by age", () => {
  const { groups } = mergedGroupList(stableResources(), remotes) as unknown as {
    groups: { name: string; preferredVersion: { version: string } }[];
  };
  const names = groups.map(({ name }) => name);
  assert.equal(names[0], "apiregistration.k8s.io");
  assert.ok(names.indexOf("top.example.com") < names.indexOf("apps"));
  assert.deepEqual(names.slice(-2), ["two.example.com", "metrics.k8s.io"]);
  const two = mergedGroup(stableResources(), remotes, "two.example.com");
  assert.deepEqual(two?.["preferredVersion"], {
    groupVersion: "two.example.com/v1",
    version: "v1",
  });
});

test("the aggregated document has what another server said last, and whether it is away", () => {
  const row = {
    resource: "pods",
    responseKind: { group: "metrics.k8s.io", version: "v1beta1", kind: "PodMetrics" },
    scope: "Namespaced",
    singularResource: "pod",
    verbs: ["get", "list"],
  };
  const metrics = remote("metrics.k8s.io", "v1beta1", 100, { resources: [row], isStale: true });
  const { items } = allSteps(mergedAggregated(stableResources(), [metrics]));
  assert.deepEqual(items.at(-1), {
    metadata: { name: "metrics.k8s.io" },
    versions: [{ version: "v1beta1", resources: [row], freshness: "Stale" }],
  });
});

test("a group-version that another server answers is described by it, and once", () => {
  const [first] = stableResources();
  assert.ok(first);
  const custom = { ...first, group: "both.example.com", version: "v1" };
  const { items } = allSteps(mergedAggregated([custom], [remote("both.example.com", "v1", 2_000)]));
  assert.deepEqual(items, [
    {
      metadata: { name: "both.example.com" },
      versions: [{ version: "v1", resources: [], freshness: "Current" }],
    },
  ]);
});
