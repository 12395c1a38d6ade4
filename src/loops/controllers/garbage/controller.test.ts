/** The garbage collector over the API in memory, with its own discovery. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, ObjectMeta, OwnerReference } from "#api/object.ts";
import { failure, noSuchPath } from "#api/status.ts";
import type { ResourceRef } from "#client/client.ts";
import { refs } from "../framework/refs.ts";
import { documents } from "../testing/discovery.ts";
import { createWorld, names, type World } from "../testing/world.ts";
import { GarbageCollector } from "./controller.ts";

const { configmaps, nodes, replicasets } = refs;

function owner(kind: string, name: string, fields: Partial<OwnerReference> = {}): OwnerReference {
  const apiVersion = kind === "ReplicaSet" ? "apps/v1" : "v1";
  return { apiVersion, kind, name, uid: `uid-${name}`, blockOwnerDeletion: true, ...fields };
}

function put(
  world: World,
  ref: ResourceRef,
  name: string,
  meta: Partial<ObjectMeta> = {},
): KubeObject {
  const namespace = ref === nodes ? {} : { namespace: "default" };
  return world.api.put(ref, { metadata: { name, uid: `uid-${name}`, ...namespace, ...meta } });
}

async function started(fill: (world: World) => void): Promise<World> {
  const world = createWorld(documents);
  fill(world);
  await world.start((deps) => new GarbageCollector(deps));
  return world;
}

const configMaps = (world: World): readonly string[] => names(world.api, configmaps);

test("dependents go when their last owner goes, and theirs with them", async () => {
  const world = await started((one) => {
    put(one, replicasets, "owner");
    put(one, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "owner")] });
    put(one, configmaps, "grandchild", { ownerReferences: [owner("ConfigMap", "child")] });
    put(one, configmaps, "other");
  });
  assert.deepEqual(configMaps(world), ["child", "grandchild", "other"]);
  world.api.drop(replicasets, "default", "owner");
  await world.rest();
  assert.deepEqual(configMaps(world), ["other"]);
  await world.stop();
});

test("an owner that was never seen is asked for before its dependent dies", async () => {
  const world = await started((one) => {
    put(one, configmaps, "orphaned", { ownerReferences: [owner("ReplicaSet", "gone")] });
    put(one, configmaps, "renamed", {
      ownerReferences: [owner("ReplicaSet", "namesake", { uid: "an-earlier-one" })],
    });
    put(one, replicasets, "namesake");
    put(one, configmaps, "unknown", { ownerReferences: [owner("Widget", "some")] });
  });
  assert.deepEqual(configMaps(world), ["unknown"]);
  const asked = world.api.calls.filter((call) => call.verb === "get").map((call) => call.name);
  assert.deepEqual(asked.toSorted(), ["gone", "namesake"]);
  await world.stop();
});

test("when the server cannot say, nothing is deleted", async () => {
  const world = createWorld(documents);
  put(world, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "owner")] });
  const broken = failure(500, "InternalError", "etcd is away");
  world.api.fail((call) => call.verb === "get", broken, 1_000);
  await world.start((deps) => new GarbageCollector(deps));
  await world.advance(10_000);
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});

test("an owner in another namespace is none; a node is never collected for a namespaced owner", async () => {
  const world = await started((one) => {
    put(one, configmaps, "owner", { namespace: "elsewhere" });
    put(one, configmaps, "child", { ownerReferences: [owner("ConfigMap", "owner")] });
    put(one, nodes, "node", { ownerReferences: [owner("ConfigMap", "owner")] });
    put(one, nodes, "lost", { ownerReferences: [owner("ConfigMap", "nowhere")] });
  });
  assert.deepEqual(configMaps(world), ["owner"]);
  assert.deepEqual(names(world.api, nodes), ["lost", "node"]);
  await world.stop();
});

test("a living uid under another kind, group or name is no owner, whichever of the two is seen first", async () => {
  const alias = (kind: string, name: string, fields: Partial<OwnerReference> = {}) => ({
    ownerReferences: [owner(kind, name, { uid: "uid-owner", ...fields })],
  });
  const children = (one: World): void => {
    put(one, configmaps, "good", alias("ConfigMap", "owner"));
    put(one, configmaps, "other-version", alias("ConfigMap", "owner", { apiVersion: "v2" }));
    put(one, configmaps, "other-kind", alias("ReplicaSet", "owner"));
    put(one, configmaps, "other-name", alias("ConfigMap", "alias"));
    put(one, configmaps, "other-scope", alias("Node", "owner"));
    put(one, configmaps, "other-group", alias("ConfigMap", "owner", { apiVersion: "apps/v1" }));
  };
  const left = ["good", "other-group", "other-version", "owner"];
  for (const isOwnerFirst of [true, false]) {
    const world = await started((one) => {
      if (isOwnerFirst) put(one, configmaps, "owner");
      children(one);
      if (!isOwnerFirst) put(one, configmaps, "owner");
    });
    assert.deepEqual(configMaps(world), left, "a kind that is not served proves nothing");
    put(world, configmaps, "late", alias("ReplicaSet", "owner"));
    await world.rest();
    assert.deepEqual(configMaps(world), left);
    world.api.drop(configmaps, "default", "owner");
    await world.rest();
    assert.deepEqual(configMaps(world), ["other-group"]);
    await world.stop();
  }
});

test("an owner proved absent by one name is asked for by another", async () => {
  const world = await started((one) => {
    put(one, configmaps, "owner");
    put(one, configmaps, "bad", {
      ownerReferences: [owner("ReplicaSet", "owner", { uid: "uid-owner" })],
    });
  });
  assert.deepEqual(configMaps(world), ["owner"]);
  put(world, configmaps, "good", { ownerReferences: [owner("ConfigMap", "owner")] });
  await world.rest();
  assert.deepEqual(configMaps(world), ["good", "owner"]);
  await world.stop();
});

test("an owner in another namespace is told once, with upstream's words, in whichever order they come", async () => {
  const told = (namespace: string): string =>
    `Warning OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: ${namespace}, name: owner, uid: uid-owner] does not exist in namespace "${namespace}"`;
  for (const isOwnerFirst of [true, false]) {
    const world = await started((one) => {
      if (isOwnerFirst) put(one, configmaps, "owner", { namespace: "elsewhere" });
    });
    put(world, nodes, "node", { ownerReferences: [owner("ConfigMap", "owner")] });
    await world.rest();
    const finalizers = ["x.io/stays"];
    const child = { ownerReferences: [owner("ConfigMap", "owner")], finalizers };
    put(world, configmaps, "child", child);
    await world.rest();
    if (!isOwnerFirst) put(world, configmaps, "owner", { namespace: "elsewhere" });
    await world.rest();
    put(world, configmaps, "child", { ...child, labels: { changed: "yes" } });
    await world.rest();
    assert.deepEqual(world.events.toSorted(), [told(""), told("default")]);
    await world.stop();
  }
});

test("of an object with a namespaced owner that is cluster-scoped itself, no reference is taken off", async () => {
  const world = await started((one) => {
    put(one, configmaps, "owner", { namespace: "elsewhere" });
    put(one, nodes, "node", {
      ownerReferences: [owner("ConfigMap", "owner"), owner("Node", "gone")],
    });
  });
  const node = world.api.peek(nodes, "", "node");
  assert.equal(node?.metadata?.ownerReferences?.length, 2);
  await world.stop();
});

test("fifty owners that were never seen are asked for, at most twenty at once", async () => {
  const world = createWorld(documents);
  const ownerReferences = Array.from({ length: 50 }, (_one, at) => owner("ReplicaSet", `r${at}`));
  put(world, configmaps, "child", { ownerReferences });
  const open = world.api.block((call) => call.verb === "get");
  await world.start((deps) => new GarbageCollector(deps));
  const asked = (): number => world.api.calls.filter((call) => call.verb === "get").length;
  assert.equal(asked(), 20);
  open();
  await world.rest();
  assert.equal(asked(), 50);
  assert.deepEqual(configMaps(world), []);
  await world.stop();
});

test("of several owners those that are gone are taken off, and the object lives", async () => {
  const world = await started((one) => {
    put(one, replicasets, "a");
    put(one, replicasets, "b");
    const ownerReferences = [owner("ReplicaSet", "a"), owner("ReplicaSet", "b")];
    put(one, configmaps, "child", { ownerReferences });
  });
  world.api.drop(replicasets, "default", "a");
  await world.rest();
  const child = world.api.peek(configmaps, "default", "child");
  assert.deepEqual(
    child?.metadata?.ownerReferences?.map((one) => one.name),
    ["b"],
  );
  await world.stop();
});

test("an object that gets another owner while it is judged lives", async () => {
  const world = await started((one) => {
    put(one, replicasets, "a");
    put(one, replicasets, "b");
    put(one, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "a")] });
  });
  const open = world.api.block((call) => call.verb === "delete");
  world.api.drop(replicasets, "default", "a");
  await world.rest();
  put(world, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "b")] });
  open();
  await world.advance(1_000);
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});

test("an object that gets another owner while its old one is asked for lives", async () => {
  const world = createWorld(documents);
  put(world, replicasets, "b");
  put(world, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "never")] });
  const open = world.api.block((call) => call.verb === "get");
  await world.start((deps) => new GarbageCollector(deps));
  put(world, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "b")] });
  await world.rest();
  open();
  await world.advance(1_000);
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});

test("in the foreground the owner goes last", async () => {
  const world = await started((one) => {
    put(one, replicasets, "owner");
    const ownerReferences = [owner("ReplicaSet", "owner")];
    put(one, configmaps, "child", { ownerReferences, finalizers: ["example.com/hold"] });
  });
  const propagationPolicy = "Foreground";
  await world.api.delete(replicasets, "default", "owner", { propagationPolicy });
  await world.rest();
  assert.deepEqual(names(world.api, replicasets), ["owner"]);
  assert.ok(world.api.peek(configmaps, "default", "child")?.metadata?.deletionTimestamp);
  world.api.drop(configmaps, "default", "child");
  await world.rest();
  assert.deepEqual(names(world.api, replicasets), []);
  await world.stop();
});

test("in the foreground a dependent with dependents goes in the foreground too, circles or not", async () => {
  const world = await started((one) => {
    put(one, configmaps, "a", { ownerReferences: [owner("ConfigMap", "c")] });
    put(one, configmaps, "b", { ownerReferences: [owner("ConfigMap", "a")] });
    put(one, configmaps, "c", { ownerReferences: [owner("ConfigMap", "b")] });
  });
  await world.api.delete(configmaps, "default", "a", { propagationPolicy: "Foreground" });
  await world.advance(5_000);
  assert.deepEqual(configMaps(world), []);
  await world.stop();
});

test("orphaning lets the dependents go before the owner", async () => {
  const world = await started((one) => {
    put(one, replicasets, "owner");
    put(one, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "owner")] });
  });
  await world.api.delete(replicasets, "default", "owner", { propagationPolicy: "Orphan" });
  await world.rest();
  assert.deepEqual(names(world.api, replicasets), []);
  assert.deepEqual(configMaps(world), ["child"]);
  assert.deepEqual(world.api.peek(configmaps, "default", "child")?.metadata?.ownerReferences, []);
  await world.stop();
});

test("an object with an orphan finalizer of its own is collected by that policy", async () => {
  const world = await started((one) => {
    put(one, replicasets, "owner");
    const ownerReferences = [owner("ReplicaSet", "owner")];
    put(one, configmaps, "middle", { ownerReferences, finalizers: ["orphan"] });
    put(one, configmaps, "child", { ownerReferences: [owner("ConfigMap", "middle")] });
  });
  world.api.drop(replicasets, "default", "owner");
  await world.rest();
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});

test("a world at rest is left alone, and a kind served later is collected too", async () => {
  const served: Record<string, unknown> = { ...documents };
  const world = createWorld(served);
  put(world, replicasets, "owner");
  put(world, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "owner")] });
  await world.start((deps) => new GarbageCollector(deps));
  assert.deepEqual(world.writes(), []);
  served["/apis"] = { groups: [appsGroup, widgetGroup] };
  served["/apis/example.com/v1"] = widgetList;
  put(world, widgets, "lost", { ownerReferences: [owner("ReplicaSet", "never")] });
  await world.advance(31_000);
  assert.deepEqual(names(world.api, widgets), []);
  await world.stop();
});

const widgets = { group: "example.com", version: "v1", resource: "widgets" };
const widgetGroup = { name: "example.com", preferredVersion: { version: "v1" } };
const widgetVerbs = ["list", "watch", "delete", "patch", "get"];
const widgetList = {
  resources: [{ name: "widgets", kind: "Widget", namespaced: true, verbs: widgetVerbs }],
};
const appsGroup = { name: "apps", preferredVersion: { version: "v1" } };

function servedWidgets(): Record<string, unknown> {
  const groups = { groups: [appsGroup, widgetGroup] };
  return { ...documents, "/apis": groups, "/apis/example.com/v1": widgetList };
}

const widgetOwner = (name: string): OwnerReference =>
  owner("Widget", name, { apiVersion: "example.com/v1" });

test("a 404 that does not name the object proves nothing once its kind is served no more", async () => {
  const served = servedWidgets();
  const world = createWorld(served);
  await world.start((deps) => new GarbageCollector(deps));
  served["/apis"] = { groups: [appsGroup] };
  served["/apis/example.com/v1"] = noSuchPath();
  world.api.fail((call) => call.resource === "widgets", noSuchPath(), 1_000);
  put(world, configmaps, "child", { ownerReferences: [widgetOwner("away")] });
  await world.advance(120_000);
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});

test("a 404 that names nobody, of a kind that is served, proves the owner absent", async () => {
  const world = createWorld(servedWidgets());
  world.api.fail((call) => call.verb === "get" && call.resource === "widgets", noSuchPath(), 1);
  put(world, configmaps, "child", { ownerReferences: [widgetOwner("gone")] });
  await world.start((deps) => new GarbageCollector(deps));
  assert.deepEqual(configMaps(world), []);
  await world.stop();
});

test("a group whose list cannot be read keeps its kinds watched, and other kinds that went are dropped", async () => {
  const served = servedWidgets();
  const world = createWorld(served);
  put(world, widgets, "owner");
  put(world, configmaps, "child", { ownerReferences: [widgetOwner("owner")] });
  await world.start((deps) => new GarbageCollector(deps));
  served["/apis/example.com/v1"] = failure(503, "ServiceUnavailable", "away");
  served["/apis/apps/v1"] = { resources: [] };
  await world.advance(120_000);
  world.forgetCalls();
  world.api.cutWatches();
  await world.advance(60_000);
  const watched = world.api.calls.filter(({ verb }) => verb === "watch");
  assert.ok(watched.some(({ resource }) => resource === "widgets"));
  assert.ok(!watched.some(({ resource }) => resource === "replicasets"));
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});

test("an owner that went while its kind was not served is found absent when the kind is back", async () => {
  const served = servedWidgets();
  const world = createWorld(served);
  put(world, widgets, "stays");
  put(world, widgets, "goes");
  put(world, configmaps, "a", { ownerReferences: [widgetOwner("stays")] });
  put(world, configmaps, "b", { ownerReferences: [widgetOwner("goes")] });
  await world.start((deps) => new GarbageCollector(deps));
  const back = { ...served };
  served["/apis"] = { groups: [appsGroup] };
  await world.advance(90_000);
  world.api.drop(widgets, "default", "goes");
  await world.advance(60_000);
  assert.deepEqual(configMaps(world), ["a", "b"]);
  Object.assign(served, back);
  await world.advance(90_000);
  assert.deepEqual(configMaps(world), ["a"]);
  await world.stop();
});

test("a definition that comes while the collector reads its first kinds is not missed", async () => {
  const served = servedWidgets();
  served["/apis"] = { groups: [appsGroup] };
  const world = createWorld(served);
  const open = world.api.block(({ verb, resource }) => verb === "list" && resource === "nodes");
  await world.start((deps) => new GarbageCollector(deps));
  served["/apis"] = { groups: [appsGroup, widgetGroup] };
  const status = { conditions: [{ type: "Established", status: "True" }] };
  world.api.put(refs.customresourcedefinitions, { metadata: { name: "w" }, status } as KubeObject);
  put(world, widgets, "lost", { ownerReferences: [owner("ReplicaSet", "never")] });
  await world.rest();
  open();
  await world.advance(1_000);
  assert.deepEqual(names(world.api, widgets), []);
  await world.stop();
});

test("dependents of a built-in kind that was switched off live", async () => {
  const served: Record<string, unknown> = { ...documents };
  const world = createWorld(served);
  await world.start((deps) => new GarbageCollector(deps));
  served["/apis"] = { groups: [] };
  await world.advance(31_000);
  put(world, configmaps, "child", { ownerReferences: [owner("ReplicaSet", "out-of-sight")] });
  put(world, configmaps, "orphan", { ownerReferences: [owner("ConfigMap", "never")] });
  await world.rest();
  assert.deepEqual(configMaps(world), ["child"]);
  await world.stop();
});
