/** The coordinator over regions in memory: places, scales, moves, loses and regains regions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { annotations, refs } from "../names.ts";
import {
  cut,
  deployment,
  deployments,
  heal,
  placement,
  RegionsWorld,
  statefulSets,
  system,
} from "../testing/world.ts";

async function worldOf(names: readonly string[]): Promise<RegionsWorld> {
  const world = new RegionsWorld();
  for (const name of names) world.join(name);
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  return world;
}

function scale(world: RegionsWorld, name: string, replicas: number): void {
  const object = world.home.peek<AnyObject>(deployments, "default", name);
  const spec = { ...(object?.["spec"] as object), replicas };
  const generation = Number(object?.metadata?.generation ?? 0) + 1;
  world.put(deployments, { ...object, metadata: { ...object?.metadata, generation }, spec });
}

function order(world: RegionsWorld, region: string, word: string | undefined): void {
  const profile = world.home.peek<AnyObject>(refs.profiles, system, region);
  const notes = word === undefined ? {} : { [annotations.order]: word };
  world.put(refs.profiles, { ...profile, metadata: { ...profile?.metadata, annotations: notes } });
}

test("a Deployment is divided, its status adds up, and at rest nothing is written", async () => {
  const world = await worldOf(["eu", "us"]);
  world.put(deployments, deployment("web", 5));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  assert.equal(world.replicas("web"), "eu=3 us=2");
  await world.advance(10_000);
  const status = world.home.peek<AnyObject>(deployments, "default", "web")?.["status"] as AnyObject;
  assert.deepEqual([status["readyReplicas"], status["observedGeneration"]], [5, 1]);
  world.forgetCalls();
  await world.advance(120_000);
  assert.deepEqual(world.writes(), []);
  scale(world, "web", 9);
  await world.rest();
  assert.equal(world.replicas("web"), "eu=5 us=4");
  await world.close();
});

test("a region that does not answer keeps its replicas, and loses them after the placement's time", async () => {
  const world = await worldOf(["eu", "us", "ap"]);
  world.put(deployments, deployment("web", 6));
  world.put(refs.placements, placement("web", { failover: { afterSeconds: 300 } }));
  await world.start();
  const eu = world.regions.get("eu");
  assert.ok(eu);
  cut(eu);
  await world.advance(60_000);
  scale(world, "web", 9);
  await world.rest();
  assert.equal(world.division("web"), "ap=4 eu=2 us=3");
  await world.advance(300_000);
  assert.equal(world.division("web"), "ap=5 us=4");
  assert.equal(world.replicas("web"), "eu=2 us=4 ap=5");
  heal(eu);
  await world.advance(60_000);
  assert.equal(world.replicas("web"), "eu=3 us=3 ap=3");
  await world.close();
});

test("with most regions silent nothing is given up", async () => {
  const world = await worldOf(["eu", "us", "ap"]);
  world.put(deployments, deployment("web", 6));
  world.put(refs.placements, placement("web", { failover: { afterSeconds: 60 } }));
  await world.start();
  for (const name of ["eu", "us"]) cut(world.regions.get(name) ?? assert.fail());
  await world.advance(600_000);
  assert.equal(world.division("web"), "ap=2 eu=2 us=2");
  await world.close();
});

test("a drained region is left within the surge: ready replicas never fall below the total", async () => {
  const world = await worldOf(["eu", "us"]);
  world.put(deployments, deployment("web", 8));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  assert.equal(world.replicas("web"), "eu=4 us=4");
  order(world, "eu", "drain");
  await world.advance(30_000);
  assert.equal(world.division("web"), "us=8");
  assert.equal(world.replicas("web"), "us=8");
  order(world, "eu", undefined);
  await world.advance(30_000);
  assert.equal(world.replicas("web"), "eu=4 us=4");
  await world.close();
});

test("what a template names goes along, and an object that is not ours is neither changed nor deleted", async () => {
  const world = await worldOf(["eu"]);
  const eu = world.regions.get("eu") ?? assert.fail();
  const container = { name: "a", image: "a", envFrom: [{ configMapRef: { name: "settings" } }] };
  const spec = { replicas: 1, template: { spec: { containers: [container] } } };
  world.put(deployments, deployment("web", 1, { spec }));
  world.put(refs.configMaps, {
    metadata: { name: "settings", namespace: "default", uid: "cm" },
    data: { a: "1" },
  });
  eu.api.put(deployments, deployment("web", 7, { metadata: { uid: "foreign" } }));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  assert.equal(world.replicas("web"), "eu=7");
  const [condition] = world.statusOf("web").conditions ?? [];
  assert.equal(condition?.message, "Deployment/web in eu is not of this placement");
  assert.equal(eu.api.peek(refs.configMaps, "default", "settings")?.metadata?.name, "settings");
  eu.api.drop(deployments, "default", "web");
  scale(world, "web", 2);
  await world.rest();
  assert.equal(world.replicas("web"), "eu=2");
  world.home.drop(deployments, "default", "web");
  await world.rest();
  assert.equal(world.replicas("web"), "");
  assert.equal(eu.api.peek(refs.configMaps, "default", "settings"), undefined);
  await world.close();
});

test("what somebody else changes in a region is put right", async () => {
  const world = await worldOf(["eu"]);
  const eu = world.regions.get("eu") ?? assert.fail();
  world.put(deployments, deployment("web", 3));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  await eu.api.patch(deployments, "default", "web", "merge", { spec: { replicas: 9 } });
  await world.advance(5_000);
  assert.equal(world.replicas("web"), "eu=3");
  await world.close();
});

test("objects of a namespace with a residency stay there, whatever the placement says, also when it is lost", async () => {
  const world = new RegionsWorld();
  const residency = "regions.pilothouse.dev/residency";
  world.join("eu", { labels: { [residency]: "europe" } });
  world.join("us", { labels: { [residency]: "america" } });
  world.join("xx");
  world.put(refs.namespaces, {
    metadata: { name: "default", uid: "ns", labels: { [residency]: "europe" } },
  });
  world.put(deployments, deployment("web", 4));
  world.put(refs.placements, placement("web", { failover: { afterSeconds: 60 } }));
  await world.start();
  assert.equal(world.replicas("web"), "eu=4");
  order(world, "eu", "lost");
  await world.advance(60_000);
  assert.equal(world.division("web"), "eu=4");
  assert.equal(world.regions.get("us")?.api.peekAll(deployments).length, 0);
  await world.close();
});

test("a region without room gets no more than runs there, and the rest goes elsewhere", async () => {
  const world = await worldOf(["eu", "us"]);
  const eu = world.regions.get("eu") ?? assert.fail();
  eu.room = 1;
  world.put(deployments, deployment("web", 6));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  assert.equal(world.replicas("web"), "eu=3 us=3");
  await world.advance(90_000);
  assert.equal(world.replicas("web"), "eu=1 us=5");
  await world.close();
});

function database(replicas: number): AnyObject {
  return { ...deployment("db", replicas), kind: "StatefulSet" };
}

const databasePlacement = (spec: object) =>
  placement("db", {
    resources: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db" }],
    ...spec,
  });

test("a StatefulSet is in one region, and moves only when it has stopped there", async () => {
  const world = await worldOf(["eu", "us"]);
  world.put(statefulSets, database(3));
  world.put(refs.placements, databasePlacement({}));
  await world.start();
  assert.equal(world.replicas("db", statefulSets), "eu=3");
  order(world, "eu", "drain");
  await world.advance(20_000);
  assert.equal(world.replicas("db", statefulSets), "us=3");
  await world.close();
});

test("a StatefulSet of a region that does not answer stays there until an operator says that it is lost", async () => {
  const world = await worldOf(["eu", "us"]);
  world.put(statefulSets, database(3));
  world.put(refs.placements, databasePlacement({ failover: { afterSeconds: 60 } }));
  await world.start();
  const eu = world.regions.get("eu") ?? assert.fail();
  cut(eu);
  await world.advance(900_000, 30_000);
  assert.equal(world.replicas("db", statefulSets), "eu=3");
  order(world, "eu", "lost");
  await world.advance(20_000);
  assert.equal(world.replicas("db", statefulSets), "eu=3 us=3");
  order(world, "eu", undefined);
  heal(eu);
  await world.advance(30_000);
  assert.equal(world.replicas("db", statefulSets), "us=3");
  await world.close();
});

test("a Placement that is deleted takes its objects with it, in regions that answer and in those that come back", async () => {
  const world = await worldOf(["eu", "us"]);
  world.put(deployments, deployment("web", 4));
  world.put(refs.placements, placement("web", {}));
  await world.start();
  const us = world.regions.get("us") ?? assert.fail();
  cut(us);
  await world.advance(60_000);
  await world.home.delete(refs.placements, "default", "web");
  await world.advance(20_000);
  assert.equal(world.replicas("web"), "us=2");
  assert.notEqual(world.home.peek(refs.placements, "default", "web"), undefined);
  heal(us);
  await world.advance(60_000);
  assert.equal(world.replicas("web"), "");
  assert.equal(world.home.peek(refs.placements, "default", "web"), undefined);
  await world.close();
});

test("a coordinator that starts again goes on with the stored division, and counts silence anew", async () => {
  const world = await worldOf(["eu", "us", "ap"]);
  world.put(deployments, deployment("web", 6));
  world.put(refs.placements, placement("web", { failover: { afterSeconds: 300 } }));
  await world.start();
  cut(world.regions.get("eu") ?? assert.fail());
  await world.advance(280_000);
  await world.stop();
  await world.start();
  await world.advance(200_000);
  assert.equal(world.division("web"), "ap=2 eu=2 us=2");
  await world.advance(120_000);
  assert.equal(world.division("web"), "ap=3 us=3");
  await world.close();
});

test("a profile of another manager is left alone, and one without a Secret says so", async () => {
  const world = await worldOf(["eu"]);
  const foreign = world.home.peek<AnyObject>(refs.profiles, system, "eu");
  world.put(refs.profiles, {
    ...foreign,
    metadata: { name: "other", namespace: system, uid: "o" },
    spec: { clusterManager: { name: "karmada" } },
  });
  world.put(refs.profiles, { ...foreign, metadata: { name: "bare", namespace: system, uid: "b" } });
  await world.start();
  const statusOf = (name: string): string =>
    JSON.stringify(world.home.peek<AnyObject>(refs.profiles, system, name)?.["status"] ?? {});
  assert.equal(statusOf("other"), "{}");
  assert.match(statusOf("bare"), /Secret bare with a key kubeconfig is missing/);
  assert.match(statusOf("eu"), /"ControlPlaneHealthy","status":"True"/);
  await world.close();
});
