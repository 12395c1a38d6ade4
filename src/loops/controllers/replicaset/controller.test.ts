/** ReplicaSets and ReplicationControllers over the API in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ReplicaSet, ReplicationController } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, readyStatus, selector, template } from "../testing/world.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { ReplicaSetController } from "./controller.ts";
import { replicaSetKind, replicationControllerKind } from "./kinds.ts";

const replicaSets = (deps: ControllerDeps) => new ReplicaSetController(deps, replicaSetKind);

function replicaSet(replicas: number): ReplicaSet {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web", namespace: "default", generation: 1 },
    spec: { replicas, selector, template },
  };
}

function podsOf(world: ReturnType<typeof createWorld>): readonly Pod[] {
  return world.api.peekAll<Pod>(refs.pods);
}

function statusOf(world: ReturnType<typeof createWorld>): ReplicaSet["status"] {
  return world.api.peek<ReplicaSet>(refs.replicasets, "default", "web")?.status;
}

test("a ReplicaSet gets its pods, its status follows them, and a second run writes nothing", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, replicaSet(3));
  await world.start(replicaSets);
  assert.equal(podsOf(world).length, 3);
  const made = podsOf(world)[0];
  assert.match(made?.metadata?.name ?? "", /^web-/);
  assert.equal(made?.metadata?.ownerReferences?.[0]?.controller, true);
  for (const one of podsOf(world)) world.setPod(one.metadata?.name ?? "", readyStatus(world.now()));
  await world.rest();
  assert.deepEqual(statusOf(world), {
    replicas: 3,
    fullyLabeledReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    terminatingReplicas: 0,
    observedGeneration: 1,
  });
  await world.stop();
  world.forgetCalls();
  await world.start(replicaSets);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a pod that goes is replaced; fewer replicas delete the pods least missed", async () => {
  const world = createWorld();
  const set = world.api.put(refs.replicasets, replicaSet(3));
  await world.start(replicaSets);
  world.api.drop(refs.pods, "default", podsOf(world)[0]?.metadata?.name ?? "");
  await world.rest();
  assert.equal(podsOf(world).length, 3);
  const kept = podsOf(world)[1]?.metadata?.name ?? "";
  world.setPod(kept, readyStatus(world.now()), "node-1");
  world.api.put(refs.replicasets, { ...set, spec: { replicas: 1, selector, template } });
  await world.rest();
  assert.deepEqual(
    podsOf(world).map((one) => one.metadata?.name),
    [kept],
  );
  await world.stop();
});

test("an orphan that matches is adopted, a stranger is let go and replaced", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, replicaSet(2));
  world.api.put(refs.pods, pod("orphan", { metadata: { labels: { app: "web" } } }));
  await world.start(replicaSets);
  assert.equal(podsOf(world).length, 2);
  const orphan = (): Pod | undefined => world.api.peek<Pod>(refs.pods, "default", "orphan");
  assert.equal(orphan()?.metadata?.ownerReferences?.[0]?.name, "web");
  world.api.put(refs.pods, {
    ...orphan(),
    metadata: { ...orphan()?.metadata, labels: { app: "other" } },
  });
  await world.rest();
  assert.deepEqual(orphan()?.metadata?.ownerReferences, []);
  assert.equal(podsOf(world).length, 3);
  await world.stop();
});

test("a ReplicaSet deleted behind the cache's back adopts nothing", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, replicaSet(1));
  await world.start(replicaSets);
  const gone = failure(404, "NotFound", "replicasets.apps web not found");
  world.api.fail((call) => call.verb === "get" && call.resource === "replicasets", gone);
  world.api.put(refs.pods, pod("orphan", { metadata: { labels: { app: "web" } } }));
  await world.rest();
  const orphan = world.api.peek<Pod>(refs.pods, "default", "orphan");
  assert.equal(orphan?.metadata?.ownerReferences, undefined);
  await world.stop();
});

test("a quota that refuses costs one call a try and one condition; the rest comes when it allows", async () => {
  const world = createWorld();
  const refusal = failure(403, "Forbidden", "exceeded quota");
  world.api.fail((call) => call.verb === "create" && call.resource === "pods", refusal, 2);
  world.api.put(refs.replicasets, replicaSet(4));
  await world.start(replicaSets);
  // The status write itself wakes the key once; from then on it waits for its backoff.
  const warning = "Warning FailedCreate Error creating: exceeded quota";
  assert.deepEqual(world.events, [warning, warning]);
  assert.equal(statusOf(world)?.conditions?.[0]?.reason, "FailedCreate");
  await world.advance(10);
  assert.equal(podsOf(world).length, 4);
  assert.equal(statusOf(world)?.conditions, undefined);
  await world.stop();
});

test("while the cache lags nothing is made twice", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, replicaSet(2));
  await world.start(replicaSets);
  world.api.cutWatches();
  await world.rest();
  const set = world.api.peek<ReplicaSet>(refs.replicasets, "default", "web");
  world.api.put(refs.replicasets, { ...set, spec: { replicas: 4, selector, template } });
  await world.advance(60_000);
  assert.equal(podsOf(world).length, 4);
  await world.stop();
});

test("pods become available when minReadySeconds are over, by the clock alone", async () => {
  const world = createWorld();
  const set = replicaSet(1);
  world.api.put(refs.replicasets, { ...set, spec: { ...set.spec, selector, minReadySeconds: 30 } });
  await world.start(replicaSets);
  world.setPod(podsOf(world)[0]?.metadata?.name ?? "", readyStatus(world.now()));
  await world.rest();
  assert.equal(statusOf(world)?.availableReplicas, undefined);
  await world.advance(30_000);
  assert.equal(statusOf(world)?.availableReplicas, 1);
  await world.stop();
});

test("a ReplicationController does the same with its plain selector", async () => {
  const world = createWorld();
  const controller: ReplicationController = {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "web", namespace: "default", generation: 1 },
    spec: { replicas: 2, selector: { app: "web" }, template },
  };
  world.api.put(refs.replicationcontrollers, controller);
  await world.start((deps) => new ReplicaSetController(deps, replicationControllerKind));
  assert.equal(podsOf(world).length, 2);
  const ref = refs.replicationcontrollers;
  const stored = world.api.peek<ReplicationController>(ref, "default", "web");
  assert.deepEqual(stored?.status, {
    replicas: 2,
    fullyLabeledReplicas: 2,
    observedGeneration: 1,
  });
  await world.stop();
});
