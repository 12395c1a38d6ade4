/** Which APIServices are made, put right, deleted or left alone: upstream's table, cell by cell. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinResources } from "#api/schema/resources.ts";
import type { AnyObject } from "#api/object.ts";
import { actionFor, wantedApiServices } from "./autoregister.ts";

const label = "kube-aggregator.kubernetes.io/automanaged";

function service(managed: string | undefined, version = "v1"): AnyObject {
  const labels = managed === undefined ? {} : { labels: { [label]: managed } };
  return { metadata: { name: "x", ...labels }, spec: { version } } as AnyObject;
}

const fresh = { hasSynced: false, wasThereAtStart: true };
const synced = { hasSynced: true, wasThereAtStart: true };
const late = { hasSynced: false, wasThereAtStart: false };

test("each cell of upstream's table", () => {
  const onstart = service("onstart");
  const always = service("true");
  const rows = [
    ["none wanted, none there", undefined, undefined, fresh, "nothing"],
    ["wanted once, none there", onstart, undefined, fresh, "create"],
    ["wanted once, deleted later", onstart, undefined, synced, "nothing"],
    ["wanted always, none there", always, undefined, synced, "create"],
    ["not ours", always, service(undefined, "v2"), fresh, "nothing"],
    ["not ours, none wanted", undefined, service(undefined), fresh, "nothing"],
    ["onstart since later", undefined, service("onstart"), late, "nothing"],
    ["onstart from the start, none wanted", undefined, onstart, fresh, "delete"],
    ["onstart from the start, differs", onstart, service("onstart", "v2"), fresh, "update"],
    ["onstart, differs later", onstart, service("onstart", "v2"), synced, "nothing"],
    ["always, none wanted", undefined, always, synced, "delete"],
    ["always, differs", always, service("true", "v2"), synced, "update"],
    ["always, same", always, service("true"), synced, "nothing"],
    ["wanted once, always there, differs", onstart, service("true", "v2"), fresh, "update"],
    ["wanted once, always there, later", onstart, service("true", "v2"), synced, "nothing"],
  ] as const;
  for (const [what, wanted, current, known, action] of rows) {
    assert.equal(actionFor(wanted, current, known), action, what);
  }
});

test("built-in group-versions are wanted once with their priorities, those of custom kinds always with 1000 and 100", () => {
  const [first] = builtinResources();
  assert.ok(first);
  const custom = { ...first, group: "stable.example.com", version: "v1beta1" };
  const wanted = wantedApiServices([...builtinResources(), custom]);
  assert.deepEqual(wanted.get("v1.")?.["spec"], {
    version: "v1",
    groupPriorityMinimum: 18_000,
    versionPriority: 1,
  });
  assert.equal(wanted.has("v1.apiregistration.k8s.io"), false);
  assert.equal(wanted.get("v1.apps")?.metadata?.labels?.[label], "onstart");
  const mine = wanted.get("v1beta1.stable.example.com");
  assert.equal(mine?.metadata?.labels?.[label], "true");
  assert.deepEqual(mine?.["spec"], {
    group: "stable.example.com",
    version: "v1beta1",
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  });
});
