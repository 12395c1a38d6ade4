/** Deployments, with ReplicaSets' own controller and pods that get ready when the test says so. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, Pod, ReplicaSet } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { ReplicaSetController } from "../replicaset/controller.ts";
import { replicaSetKind } from "../replicaset/kinds.ts";
import { refs } from "../framework/refs.ts";
import {
  container,
  createWorld,
  readyStatus,
  selector,
  template,
  type World,
} from "../testing/world.ts";
import { DeploymentController } from "./controller.ts";
import { revisionAnnotation } from "./revision.ts";

const deployments = (deps: ControllerDeps) => new DeploymentController(deps);
const replicaSets = (deps: ControllerDeps) => new ReplicaSetController(deps, replicaSetKind);

function deployment(fields: Partial<NonNullable<Deployment["spec"]>> = {}): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", generation: 1 },
    spec: {
      replicas: 4,
      selector,
      template,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 1,
      ...fields,
    },
  };
}

const other = (image: string) => ({
  ...template,
  spec: { containers: [{ ...container, image }] },
});

function stored(world: World): Deployment {
  return world.api.peek<Deployment>(refs.deployments, "default", "web") ?? {};
}

function change(world: World, fields: Partial<NonNullable<Deployment["spec"]>>): void {
  const now = stored(world);
  const spec = { ...now.spec, selector, template: now.spec?.template ?? {}, ...fields };
  const metadata = { ...now.metadata, generation: (now.metadata?.generation ?? 0) + 1 };
  world.api.put(refs.deployments, { ...now, metadata, spec });
}

function sizesOf(world: World): readonly number[] {
  return world.api.peekAll<ReplicaSet>(refs.replicasets).map((rs) => rs.spec?.replicas ?? 0);
}

/** Makes every pod ready, until nothing changes any more. */
async function converge(world: World): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await world.rest();
    const waiting = world.api
      .peekAll<Pod>(refs.pods)
      .filter((one) => one.status?.phase !== "Running");
    if (waiting.length === 0) return;
    for (const one of waiting) world.setPod(one.metadata?.name ?? "", readyStatus(world.now()));
  }
  assert.fail("no end");
}

function reasonOf(world: World, type = "Progressing"): string | undefined {
  return stored(world).status?.conditions?.find((one) => one.type === type)?.reason;
}

test("a Deployment comes up, says so, and a second run writes nothing", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment());
  await world.start(deployments, replicaSets);
  assert.equal(reasonOf(world), "ReplicaSetUpdated");
  await converge(world);
  assert.equal(reasonOf(world), "NewReplicaSetAvailable");
  assert.equal(stored(world).metadata?.annotations?.[revisionAnnotation], "1");
  assert.equal(stored(world).status?.availableReplicas, 4);
  await world.stop();
  world.forgetCalls();
  await world.start(deployments, replicaSets);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a new template rolls; going back revives the old ReplicaSet with the next revision", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment());
  await world.start(deployments, replicaSets);
  await converge(world);
  change(world, { template: other("two") });
  await converge(world);
  assert.deepEqual(sizesOf(world), [0, 4]);
  assert.equal(stored(world).metadata?.annotations?.[revisionAnnotation], "2");
  change(world, { template });
  await converge(world);
  assert.deepEqual(sizesOf(world), [4, 0]);
  assert.equal(stored(world).metadata?.annotations?.[revisionAnnotation], "3");
  change(world, { template: other("three") });
  await converge(world);
  // One old ReplicaSet is kept as history: the one used last.
  assert.deepEqual(sizesOf(world), [0, 4]);
  await world.stop();
});

test("the controller writes Deployments through status only, as its role allows", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment());
  await world.start(deployments, replicaSets);
  await converge(world);
  const own = world.writes().filter((call) => call.includes(" deployments"));
  assert.ok(own.length > 0);
  assert.deepEqual([...new Set(own)], ["update deployments/status default/web"]);
  await world.stop();
});

test("a paused Deployment takes a new size, not a new template, and stays at rest", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment());
  await world.start(deployments, replicaSets);
  await converge(world);
  change(world, { paused: true, template: other("two"), replicas: 6 });
  await converge(world);
  assert.deepEqual(sizesOf(world), [6]);
  assert.equal(reasonOf(world), "DeploymentPaused");
  world.forgetCalls();
  await world.advance(30_000);
  assert.deepEqual(world.writes(), []);
  change(world, { paused: false });
  await converge(world);
  assert.deepEqual(sizesOf(world), [0, 6]);
  assert.equal(reasonOf(world), "NewReplicaSetAvailable");
  await world.stop();
});

test("Recreate waits until the last old pod is gone", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment({ strategy: { type: "Recreate" } }));
  await world.start(deployments, replicaSets);
  await converge(world);
  for (const one of world.api.peekAll<Pod>(refs.pods))
    world.setPod(one.metadata?.name ?? "", {}, "node-1");
  change(world, { template: other("two"), strategy: { type: "Recreate" } });
  await world.rest();
  assert.deepEqual(sizesOf(world), [0]);
  const going = world.api.peekAll<Pod>(refs.pods);
  assert.ok(going.every((one) => one.metadata?.deletionTimestamp !== undefined));
  for (const one of going) world.api.drop(refs.pods, "default", one.metadata?.name ?? "");
  await world.rest();
  assert.deepEqual(sizesOf(world), [0, 4]);
  await world.stop();
});

test("a rollout that gets nowhere times out at its deadline, by the clock alone", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment({ progressDeadlineSeconds: 60 }));
  await world.start(deployments, replicaSets);
  await world.advance(59_000);
  assert.equal(reasonOf(world), "ReplicaSetUpdated");
  await world.advance(3_000);
  assert.equal(reasonOf(world), "ProgressDeadlineExceeded");
  await world.stop();
});

test("a foreign ReplicaSet of the wanted name is counted around", async () => {
  const world = createWorld();
  world.api.put(refs.deployments, deployment());
  await world.start(deployments, replicaSets);
  const made = world.api.peekAll<ReplicaSet>(refs.replicasets)[0];
  await world.stop();

  const again = createWorld();
  const foreign = { ...made, metadata: { ...made?.metadata, uid: "foreign", ownerReferences: [] } };
  again.api.put(refs.replicasets, { ...foreign, metadata: { ...foreign.metadata, labels: {} } });
  again.api.put(refs.deployments, deployment());
  await again.start(deployments);
  await again.advance(100);
  assert.equal(stored(again).status?.collisionCount, 1);
  assert.equal(again.api.peekAll(refs.replicasets).length, 2);
  await again.stop();
});

test("a refused ReplicaSet is an event and a condition", async () => {
  const world = createWorld();
  const refusal = failure(403, "Forbidden", "no");
  world.api.fail((call) => call.verb === "create", refusal, 1_000);
  world.api.put(refs.deployments, deployment());
  await world.start(deployments);
  assert.equal(reasonOf(world), "ReplicaSetCreateError");
  assert.match(
    world.events[0] ?? "",
    /^Warning ReplicaSetCreateError Failed to create new replica set/,
  );
  await world.stop();
});
