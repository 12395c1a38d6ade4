/** Discovery: order, shape and completeness of every level. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { builtinResources, resourceByPath } from "#api/schema/resources.ts";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import { allSteps } from "#base/steps.ts";
import { aggregatedCore, aggregatedGroups } from "./aggregated.ts";
import { apiResourceListDocument, apiVersionsDocument } from "./discovery.ts";
import { mergedGroup, mergedGroupList } from "./merged.ts";
import { storageVersionHash } from "./storage-version-hash.ts";

const served = stableResources();

const cronTab: ResourceInfo = {
  group: "stable.example.com",
  version: "v1",
  resource: "crontabs",
  singular: "crontab",
  kind: "CronTab",
  namespaced: true,
  verbs: ["get", "list"],
  shortNames: ["ct"],
  categories: [],
  subresources: [],
  storage: { group: "stable.example.com", version: "v1", resource: "crontabs" },
};

function list(document: object | undefined, field: string): readonly JsonObject[] {
  // Every document here has the list.
  return ((document as JsonObject | undefined)?.[field] ?? []) as readonly JsonObject[];
}

function names(items: readonly JsonObject[], field = "name"): readonly unknown[] {
  return items.map((item) => item[field]);
}

test("the core root names its version and the server's address", () => {
  assert.deepEqual(apiVersionsDocument(served, "127.0.0.1:6443"), {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:6443" }],
  });
});

test("groups come in upstream's order, custom ones last", () => {
  const groups = names(list(mergedGroupList([...served, cronTab], []), "groups"));
  assert.deepEqual(groups, [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "stable.example.com",
  ]);
});

test("a group lists its versions, the preferred first", () => {
  const group = mergedGroup(served, [], "autoscaling");
  assert.deepEqual(group, {
    kind: "APIGroup",
    apiVersion: "v1",
    name: "autoscaling",
    versions: [
      { groupVersion: "autoscaling/v2", version: "v2" },
      { groupVersion: "autoscaling/v1", version: "v1" },
    ],
    preferredVersion: { groupVersion: "autoscaling/v2", version: "v2" },
  });
  assert.equal(mergedGroup(served, [], "nothing.example.com"), undefined);
});

test("a group-version lists its resources, each followed by its subresources", () => {
  const document = apiResourceListDocument(served, "", "v1");
  assert.equal(document?.["apiVersion"], undefined);
  const resources = list(document, "resources");
  const pods = resources.filter((r) => /^pods(?:\/|$)/.test(r["name"] as string));
  assert.deepEqual(names(pods), [
    "pods",
    "pods/attach",
    "pods/binding",
    "pods/ephemeralcontainers",
    "pods/eviction",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/proxy",
    "pods/resize",
    "pods/status",
  ]);
  assert.deepEqual(pods[0], {
    name: "pods",
    singularName: "pod",
    namespaced: true,
    kind: "Pod",
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    shortNames: ["po"],
    categories: ["all"],
    storageVersionHash: "xPOwRZ+Yhw8=",
  });
  assert.deepEqual(pods[4], {
    name: "pods/eviction",
    singularName: "",
    namespaced: true,
    group: "policy",
    version: "v1",
    kind: "Eviction",
    verbs: ["create"],
  });
  assert.equal(apiResourceListDocument(served, "apps", "v2"), undefined);
});

test("hashes of storage versions are those of real servers", () => {
  const hash = (group: string, version: string, resource: string): string | undefined => {
    const info = resourceByPath(group, version, resource);
    assert.ok(info);
    return storageVersionHash(info);
  };
  assert.equal(hash("", "v1", "configmaps"), "qFsyl6wFWjQ=");
  assert.equal(hash("apps", "v1", "deployments"), "8aSe+NMegvE=");
  assert.equal(hash("events.k8s.io", "v1", "events"), hash("", "v1", "events"));
  assert.equal(hash("", "v1", "bindings"), undefined);
});

test("aggregated discovery holds every resource once, core apart", () => {
  const input = { resources: [...builtinResources(), cronTab], stale: new Set<string>() };
  const core = list(allSteps(aggregatedCore(input)), "items");
  assert.equal(core.length, 1);
  const groups = list(allSteps(aggregatedGroups(input)), "items");
  const versions = [...core, ...groups].flatMap((group) => list(group, "versions"));
  const resources = versions.flatMap((version) => list(version, "resources"));
  assert.equal(versions.length, 37);
  assert.equal(resources.length, 96);
});

test("an aggregated resource carries its response kind, scope and subresources", () => {
  const stale = new Set(["apps/v1"]);
  const groups = list(allSteps(aggregatedGroups({ resources: served, stale })), "items");
  const apps = groups.find((g) => (g["metadata"] as JsonObject)["name"] === "apps");
  const [version] = list(apps, "versions");
  assert.equal(version?.["freshness"], "Stale");
  const deployments = list(version, "resources").find((r) => r["resource"] === "deployments");
  assert.deepEqual(deployments, {
    resource: "deployments",
    responseKind: { group: "", version: "", kind: "Deployment" },
    scope: "Namespaced",
    singularResource: "deployment",
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    shortNames: ["deploy"],
    categories: ["all"],
    subresources: [
      {
        subresource: "scale",
        responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
        verbs: ["get", "patch", "update"],
      },
      {
        subresource: "status",
        responseKind: { group: "", version: "", kind: "Deployment" },
        verbs: ["get", "patch", "update"],
      },
    ],
  });
});
