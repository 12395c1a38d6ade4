/** The resource table: complete, consistent, in order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinResources, resourceByKind, resourceByPath } from "./resources.ts";
import { stableResources } from "./testing/stable-resources.ts";
import { compareGroups, compareKubeVersions, compareVersions } from "./group-priorities.ts";
import { schemaOfKind } from "./schema.ts";

test("there are 95 resources in 36 group-versions", () => {
  const rows = builtinResources();
  assert.equal(rows.length, 95);
  assert.equal(new Set(rows.map((r) => `${r.group}/${r.version}`)).size, 36);
});

test("every resource, list and subresource kind has a schema", () => {
  for (const r of builtinResources()) {
    assert.ok(schemaOfKind(r), `${r.group}/${r.version} ${r.kind}`);
    if (r.verbs.includes("list")) assert.ok(schemaOfKind({ ...r, kind: `${r.kind}List` }), r.kind);
    for (const sub of r.subresources.filter((s) => !s.kind.endsWith("Options"))) {
      const gvk = {
        group: sub.group ?? r.group,
        version: sub.version ?? r.version,
        kind: sub.kind,
      };
      assert.ok(schemaOfKind(gvk), `${r.resource}/${sub.name}`);
    }
  }
});

test("every storage is a row of its own", () => {
  for (const { storage, kind } of builtinResources()) {
    if (storage === undefined) continue;
    const stored = resourceByPath(storage.group, storage.version, storage.resource);
    assert.equal(stored?.kind, kind);
    assert.deepEqual(stored?.storage, storage);
  }
});

test("autoscaling versions share one storage, and so do both events", () => {
  const v1 = resourceByKind({
    group: "autoscaling",
    version: "v1",
    kind: "HorizontalPodAutoscaler",
  });
  assert.equal(v1?.storage?.version, "v2");
  const events = resourceByKind({ group: "events.k8s.io", version: "v1", kind: "Event" });
  assert.deepEqual(events?.storage, { group: "", version: "v1", resource: "events" });
});

test("groups are listed as upstream lists them", () => {
  const groups = [...new Set(stableResources().map((r) => r.group))].sort(compareGroups);
  assert.deepEqual(groups.slice(0, 6), [
    "apiregistration.k8s.io",
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
  ]);
  assert.ok(compareGroups("stable.example.com", "flowcontrol.apiserver.k8s.io") > 0);
});

test("versions are listed by priority, then by stability and number", () => {
  assert.deepEqual(
    ["v1", "v2"].sort((a, b) => compareVersions("autoscaling", a, b)),
    ["v2", "v1"],
  );
  assert.deepEqual(
    ["foo1", "v1alpha1", "v10", "v2", "v1beta2", "v2beta1", "foo10"].sort(compareKubeVersions),
    ["v10", "v2", "v2beta1", "v1beta2", "v1alpha1", "foo1", "foo10"],
  );
});
