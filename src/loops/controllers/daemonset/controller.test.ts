/** DaemonSets over the API in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerRevision, DaemonSet, Node, Pod } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import {
  container,
  createWorld,
  readyStatus,
  selector,
  template,
  type World,
} from "../testing/world.ts";
import { DaemonSetController } from "./controller.ts";
import { targetNode } from "./eligible.ts";

const daemonSet: DaemonSet = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "agent", namespace: "default", generation: 1 },
  spec: {
    selector,
    template,
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
  },
};

function withNodes(count: number): World {
  const world = createWorld();
  for (let at = 0; at < count; at++) addNode(world, `n${at}`);
  world.api.put(refs.daemonsets, daemonSet);
  return world;
}

function addNode(world: World, name: string): void {
  const node: Node = { apiVersion: "v1", kind: "Node", metadata: { name }, spec: {} };
  world.api.put(refs.nodes, node);
}

function pods(world: World): readonly Pod[] {
  return world.api.peekAll<Pod>(refs.pods);
}

function hosts(world: World): readonly string[] {
  return pods(world).map(targetNode).toSorted();
}

/** Binds and readies every pod, until nothing changes any more. */
async function converge(world: World): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await world.rest();
    const waiting = pods(world).filter((one) => one.status?.phase !== "Running");
    if (waiting.length === 0) return;
    for (const one of waiting) world.setPod(one.metadata?.name ?? "", readyStatus(world.now()));
  }
  assert.fail("no end");
}

function statusOf(world: World): DaemonSet["status"] {
  return world.api.peek<DaemonSet>(refs.daemonsets, "default", "agent")?.status;
}

test("every node gets a daemon, later ones too, and a second run writes nothing", async () => {
  const world = withNodes(2);
  await world.start((deps) => new DaemonSetController(deps));
  await converge(world);
  assert.deepEqual(hosts(world), ["n0", "n1"]);
  addNode(world, "n2");
  await converge(world);
  assert.deepEqual(hosts(world), ["n0", "n1", "n2"]);
  assert.equal(statusOf(world)?.numberAvailable, 3);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new DaemonSetController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a NoExecute taint ends the daemon of its node", async () => {
  const world = withNodes(2);
  await world.start((deps) => new DaemonSetController(deps));
  await converge(world);
  const spec = { taints: [{ key: "broken", effect: "NoExecute" }] };
  world.api.put(refs.nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "n0" }, spec });
  await converge(world);
  assert.deepEqual(hosts(world), ["n1"]);
  assert.equal(statusOf(world)?.desiredNumberScheduled, 1);
  await world.stop();
});

test("a new template replaces daemons within maxUnavailable; revisions are labelled by hash", async () => {
  const world = withNodes(3);
  await world.start((deps) => new DaemonSetController(deps));
  await converge(world);
  const spec = { containers: [{ ...container, image: "two" }] };
  world.api.put(refs.daemonsets, {
    ...daemonSet,
    metadata: { ...daemonSet.metadata, generation: 2 },
    spec: { ...daemonSet.spec, selector, template: { ...template, spec } },
  });
  await world.rest();
  const waiting = pods(world).filter((one) => one.status?.phase === "Pending");
  assert.equal(waiting.length, 1);
  await converge(world);
  const images = pods(world).map((one) => one.spec?.containers[0]?.image);
  assert.deepEqual(images, ["two", "two", "two"]);
  const revisions = world.api.peekAll<ControllerRevision>(refs.controllerrevisions);
  assert.equal(revisions.length, 2);
  for (const revision of revisions) {
    const hash = revision.metadata?.labels?.[revisionHashLabel];
    assert.equal(revision.metadata?.name, `agent-${hash}`);
    assert.equal(revision.metadata?.labels?.["app"], "web");
  }
  await world.stop();
});

test("a daemon that keeps failing is made anew at once, then after 1 s, then after 2 s", async () => {
  const world = withNodes(1);
  await world.start((deps) => new DaemonSetController(deps));
  const failures = (): number =>
    world.events.filter((event) => event.startsWith("Warning FailedDaemonPod")).length;
  const fail = async (): Promise<void> => {
    world.setPod(pods(world)[0]?.metadata?.name ?? "", { phase: "Failed" });
    await world.rest();
  };
  await fail();
  assert.equal(failures(), 1);
  await fail();
  assert.equal(failures(), 1);
  await world.advance(1_000);
  assert.equal(failures(), 2);
  await fail();
  await world.advance(1_900);
  assert.equal(failures(), 2);
  await world.advance(200);
  assert.equal(failures(), 3);
  assert.deepEqual(hosts(world), ["n0"]);
  await world.stop();
});

test("a revision whose name another template has raises the collision count once, then gets another name", async () => {
  const world = withNodes(1);
  await world.start((deps) => new DaemonSetController(deps));
  const [made] = world.api.peekAll<ControllerRevision>(refs.controllerrevisions);
  await world.stop();

  const again = withNodes(1);
  const foreign = { name: made?.metadata?.name ?? "", namespace: "default", labels: {} };
  const data = { spec: { template: { spec: { containers: [] }, $patch: "replace" } } };
  again.api.put(refs.controllerrevisions, { ...made, metadata: foreign, data } as never);
  await again.start((deps) => new DaemonSetController(deps));
  await again.advance(5_000);
  await converge(again);
  assert.equal(statusOf(again)?.collisionCount, 1);
  const revisions = again.api.peekAll<ControllerRevision>(refs.controllerrevisions);
  const own = revisions.find(({ metadata }) => metadata?.name !== foreign.name);
  const label = own?.metadata?.labels?.[revisionHashLabel];
  assert.equal(pods(again)[0]?.metadata?.labels?.[revisionHashLabel], label);
  assert.equal(revisions.length, 2);
  await again.stop();
});

test("a revision in the form of an earlier version is adopted: no daemon is restarted", async () => {
  const world = withNodes(2);
  await world.start((deps) => new DaemonSetController(deps));
  await converge(world);
  const [made] = world.api.peekAll<ControllerRevision>(refs.controllerrevisions);
  await world.stop();
  const data = { spec: { template: { ...template, $patch: "replace" } } };
  assert.notDeepEqual(made?.data, data);
  world.api.put(refs.controllerrevisions, { ...made, data } as never);
  world.forgetCalls();
  await world.start((deps) => new DaemonSetController(deps));
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});
