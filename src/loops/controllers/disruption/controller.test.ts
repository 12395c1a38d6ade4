/** Budgets follow pods and their controllers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, Pod, PodDisruptionBudget, ReplicaSet } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, readyStatus, selector, template, type World } from "../testing/world.ts";
import { DisruptionController } from "./controller.ts";

function put(world: World, spec: NonNullable<PodDisruptionBudget["spec"]>): void {
  world.api.put<PodDisruptionBudget>(refs.poddisruptionbudgets, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "pdb", namespace: "default", generation: 1 },
    spec: { selector, ...spec },
  });
}

function owned(world: World, name: string, kind: string, owner: string, ready = true): void {
  const apiVersion =
    kind === "ReplicationController" ? "v1" : kind === "Widget" ? "example.com/v1" : "apps/v1";
  const ownerReferences = [
    { apiVersion, kind, name: owner, uid: `uid-${owner}`, controller: true },
  ];
  const status = ready ? readyStatus(world.now()) : { phase: "Running" };
  world.api.put(
    refs.pods,
    pod(name, { status, metadata: { labels: { app: "web" }, ownerReferences } }),
  );
}

function deployment(world: World, replicas: number, generation = 1): void {
  const metadata = { name: "web", namespace: "default", uid: "uid-web", generation };
  const spec = { replicas, selector, template };
  world.api.put<Deployment>(refs.deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec,
  });
  const by = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    name: "web",
    uid: "uid-web",
    controller: true,
  };
  for (const name of ["web-1", "web-2"]) {
    const own = { name, namespace: "default", uid: `uid-${name}`, ownerReferences: [by] };
    world.api.put<ReplicaSet>(refs.replicasets, { metadata: own, spec: { replicas: 9, selector } });
  }
}

function statusOf(world: World): PodDisruptionBudget["status"] {
  return world.api.peek<PodDisruptionBudget>(refs.poddisruptionbudgets, "default", "pdb")?.status;
}

test("a share is of what the Deployment wants, its ReplicaSets being one whole; a second run writes nothing", async () => {
  const world = createWorld();
  deployment(world, 4);
  for (const name of ["a", "b", "c"]) owned(world, name, "ReplicaSet", "web-1");
  owned(world, "d", "ReplicaSet", "web-2");
  put(world, { maxUnavailable: "25%" });
  await world.start((deps) => new DisruptionController(deps));
  const { conditions, ...counts } = statusOf(world) ?? {};
  assert.deepEqual(counts, {
    currentHealthy: 4,
    desiredHealthy: 3,
    expectedPods: 4,
    disruptionsAllowed: 1,
    observedGeneration: 1,
  });
  assert.equal(conditions?.[0]?.reason, "SufficientPods");
  owned(world, "d", "ReplicaSet", "web-2", false);
  await world.rest();
  assert.equal(statusOf(world)?.disruptionsAllowed, 0);
  deployment(world, 8, 2);
  await world.rest();
  assert.equal(statusOf(world)?.expectedPods, 8);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new DisruptionController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("any kind with a scale counts; one without allows nothing, and the condition says why", async () => {
  const resources = [{ name: "widgets", kind: "Widget" }];
  const served: Record<string, unknown> = { "/apis/example.com/v1": { resources } };
  const world = createWorld(served);
  const widgets = { group: "example.com", version: "v1", resource: "widgets" };
  const metadata = { name: "w", namespace: "default", uid: "uid-w" };
  world.api.put(widgets, { metadata, spec: { replicas: 2 } } as object);
  owned(world, "a", "Widget", "w");
  owned(world, "b", "Widget", "w");
  put(world, { maxUnavailable: 1 });
  await world.start((deps) => new DisruptionController(deps));
  const [condition] = statusOf(world)?.conditions ?? [];
  assert.deepEqual(
    [condition?.reason, condition?.message],
    ["SyncFailed", "widgets.example.com does not implement the scale subresource"],
  );
  assert.equal(statusOf(world)?.disruptionsAllowed, 0);
  served["/apis/example.com/v1"] = {
    resources: [...resources, { name: "widgets/scale", kind: "Scale" }],
  };
  await world.advance(31_000);
  assert.equal(statusOf(world)?.disruptionsAllowed, 1);
  await world.stop();
});

test("a pod that was to go and stays loses the word after two minutes", async () => {
  const world = createWorld();
  const target = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    lastTransitionTime: world.now(),
  };
  world.api.put(refs.pods, pod("stays", { status: { phase: "Running", conditions: [target] } }));
  await world.start((deps) => new DisruptionController(deps));
  const word = (): string | undefined =>
    world.api.peek<Pod>(refs.pods, "default", "stays")?.status?.conditions?.[0]?.status;
  await world.advance(119_000);
  assert.equal(word(), "True");
  await world.advance(2_000);
  assert.equal(word(), "False");
  await world.stop();
});
