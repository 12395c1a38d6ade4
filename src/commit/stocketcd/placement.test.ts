/** Which cluster a resource lives in, by the flags' entries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinResources } from "#api/schema/resources.ts";
import { placementOf } from "./placement.ts";

const stored = builtinResources().map((info) => info.storage ?? info);

/** @returns the servers, "" for those of the rest. */
function clusterOf(entries: readonly string[], name: string): string {
  const [group = "", resource = ""] = name.split("/");
  const holding = placementOf(entries, stored).filter(({ holds }) => holds({ group, resource }));
  assert.ok(holding.length < 2, "one cluster");
  return holding[0]?.servers.join(";") ?? "";
}

const events = "/events#http://a:1";

const placed: readonly (readonly [entries: readonly string[], name: string, servers: string])[] = [
  [[], "/events", ""],
  [[events], "/events", "http://a:1"],
  [[events], "/pods", ""],
  [["/events#http://a:1;http://b:1"], "/events", "http://a:1;http://b:1"],
  [["apps/*#http://a:1"], "apps/deployments", "http://a:1"],
  [["apps/*#http://a:1"], "batch/jobs", ""],
  [["apps/deployments#http://b:1", "apps/*#http://a:1"], "apps/deployments", "http://b:1"],
  [["apps/deployments#http://b:1", "apps/*#http://a:1"], "apps/daemonsets", "http://a:1"],
  [[events, "/events#http://b:1"], "/events", "http://b:1"],
  [["/services#http://a:1"], "/rangeallocations", "http://a:1"],
  [["/services#http://a:1"], "/endpoints", ""],
  [["/apiServerIPInfo#http://a:1"], "/masterleases", "http://a:1"],
  [["/*#http://a:1"], "/masterleases", "http://a:1"],
  // Stored as core events; entries for another group's name of them have no effect, as upstream.
  [["events.k8s.io/events#http://a:1"], "/events", ""],
  [["example.com/widgets#http://a:1"], "example.com/widgets", ""],
  [["apiregistration.k8s.io/*#http://a:1"], "apiregistration.k8s.io/apiservices", ""],
  [
    ["apiextensions.k8s.io/customresourcedefinitions#http://a:1"],
    "apiextensions.k8s.io/customresourcedefinitions",
    "",
  ],
];

for (const [entries, name, servers] of placed) {
  test(`${name} with ${entries.join(",") || "nothing"} lives at ${servers || "the rest"}`, () => {
    assert.equal(clusterOf(entries, name), servers);
  });
}

test("the same servers in another order are one cluster", () => {
  const entries = [
    "/events#http://a:1;http://b:1",
    "coordination.k8s.io/leases#http://b:1;http://a:1",
  ];
  assert.equal(placementOf(entries, stored).length, 1);
});

for (const wrong of [
  "",
  "events",
  "/events",
  "/events#",
  "/events#a#b",
  "a/b/c#d",
  "/events#a;",
  "#a",
])
  test(`${JSON.stringify(wrong)} is refused in upstream's words`, () => {
    assert.throws(() => placementOf([wrong], stored), {
      message:
        "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated",
    });
  });
