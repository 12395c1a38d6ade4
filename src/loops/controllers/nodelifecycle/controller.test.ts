/** Nodes that fall silent, zones that are lost, and pods that must go, on a clock the test moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import type { Lease, Node, Pod, Taint } from "#api/gen/types.ts";
import { formatMicroTime } from "#api/values/time.ts";
import { RecoveryBudget } from "#client/recovery-budget.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, pod, readyStatus, type World } from "../testing/world.ts";
import { NodeLifecycleController } from "./controller.ts";
import { TaintEvictionController } from "./taint-eviction.ts";

function addNode(world: World, name: string, zone = "a"): void {
  const labels = { "topology.kubernetes.io/zone": zone };
  const ready = { type: "Ready", status: "True", lastTransitionTime: world.now() };
  world.api.put<Node>(refs.nodes, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    spec: {},
    status: { conditions: [ready] },
  });
  beat(world, name);
}

function beat(world: World, name: string): void {
  const renewTime = formatMicroTime(world.clock.nowMs());
  world.api.put<Lease>(refs.leases, {
    metadata: { name, namespace: "kube-node-lease" },
    spec: { renewTime },
  });
}

/** Moves time on in steps of 5 s, `alive` beating all the while. */
async function live(world: World, seconds: number, alive: readonly string[]): Promise<void> {
  for (let at = 0; at < seconds; at += 5) {
    for (const name of alive) beat(world, name);
    await world.advance(5_000);
  }
}

/** Its kubelet is back. */
function revive(world: World, name: string): void {
  const node = world.api.peek<Node>(refs.nodes, "", name);
  const ready = {
    type: "Ready",
    status: "True",
    lastTransitionTime: world.now(),
    lastHeartbeatTime: world.now(),
  };
  world.api.put(refs.nodes, { ...node, status: { conditions: [ready] } });
  beat(world, name);
}

function taints(world: World, name: string): readonly string[] {
  const all = world.api.peek<Node>(refs.nodes, "", name)?.spec?.taints ?? [];
  return all.map(({ key, effect }) => `${key.split("/")[1]}:${effect}`).toSorted();
}

function givenUp(world: World): readonly string[] {
  return names(world.api, refs.nodes).filter((name) =>
    taints(world, name).includes("unreachable:NoExecute"),
  );
}

function condition(world: World, name: string): string | undefined {
  const node = world.api.peek<Node>(refs.nodes, "", name);
  return node?.status?.conditions?.find((one) => one.type === "Ready")?.status;
}

test("a silent node is unknown after 50 s, its pods not ready, both taints there; back, all is undone", async () => {
  const world = createWorld();
  for (const name of ["n1", "n2", "n3"]) addNode(world, name);
  const spec = { containers: [], nodeName: "n1" };
  world.api.put(refs.pods, pod("p", { spec, status: readyStatus(world.now()) }));
  await world.start((deps) => new NodeLifecycleController(deps));
  await live(world, 45, ["n2", "n3"]);
  assert.equal(condition(world, "n1"), "True");
  await live(world, 15, ["n2", "n3"]);
  assert.equal(condition(world, "n1"), "Unknown");
  assert.deepEqual(taints(world, "n1"), ["unreachable:NoExecute", "unreachable:NoSchedule"]);
  const marked = world.api.peek<Pod>(refs.pods, "default", "p");
  assert.equal(marked?.status?.conditions?.[0]?.status, "False");
  assert.equal(condition(world, "n2"), "True");
  revive(world, "n1");
  await world.rest();
  assert.deepEqual(taints(world, "n1"), []);
  await world.stop();
});

test("a node whose kubelet never spoke has a minute to, and only then loses its pods", async () => {
  const world = createWorld();
  addNode(world, "other");
  world.api.put<Node>(refs.nodes, { metadata: { name: "mute" }, spec: {}, status: {} });
  await world.start((deps) => new NodeLifecycleController(deps));
  await live(world, 55, ["other"]);
  assert.deepEqual([condition(world, "mute"), taints(world, "mute")], [undefined, []]);
  await live(world, 15, ["other"]);
  assert.equal(condition(world, "mute"), "Unknown");
  assert.deepEqual(taints(world, "mute"), ["unreachable:NoExecute", "unreachable:NoSchedule"]);
  await world.stop();
});

test("of a zone no more than one node in 10 s is given up", async () => {
  const world = createWorld();
  const all = Array.from({ length: 10 }, (_one, at) => `n${at}`);
  for (const name of all) addNode(world, name);
  await world.start((deps) => new NodeLifecycleController(deps));
  const alive = all.slice(4);
  await live(world, 60, alive);
  assert.equal(givenUp(world).length, 1);
  await live(world, 10, alive);
  assert.equal(givenUp(world).length, 2);
  await live(world, 60, alive);
  assert.deepEqual(givenUp(world), ["n0", "n1", "n2", "n3"]);
  await world.stop();
});

test("a small zone that is mostly lost gives up no further node", async () => {
  const world = createWorld();
  const all = Array.from({ length: 10 }, (_one, at) => `n${at}`);
  for (const name of all) addNode(world, name);
  addNode(world, "far", "b");
  await world.start((deps) => new NodeLifecycleController(deps));
  await live(world, 180, [...all.slice(6), "far"]);
  assert.ok(givenUp(world).length <= 1, String(givenUp(world)));
  await world.stop();
});

test("when all are lost it is us: taints are withdrawn, and those that come back find a fresh start", async () => {
  const world = createWorld();
  const all = ["n0", "n1", "n2", "n3"];
  for (const name of all) addNode(world, name);
  await world.start((deps) => new NodeLifecycleController(deps));
  await live(world, 60, all.slice(1));
  assert.deepEqual(givenUp(world), ["n0"]);
  await live(world, 80, []);
  assert.ok(all.every((name) => condition(world, name) === "Unknown"));
  assert.deepEqual(givenUp(world), []);
  for (const name of all) revive(world, name);
  await live(world, 20, all);
  assert.ok(all.every((name) => taints(world, name).length === 0));
  await world.stop();
});

test("a node given up for one reason changes to another at once", async () => {
  const world = createWorld();
  for (const name of ["n1", "n2", "n3"]) addNode(world, name);
  await world.start((deps) => new NodeLifecycleController(deps));
  await live(world, 60, ["n2", "n3"]);
  const node = world.api.peek<Node>(refs.nodes, "", "n1");
  const ready = { type: "Ready", status: "False", lastHeartbeatTime: world.now() };
  world.api.put(refs.nodes, { ...node, status: { conditions: [ready] } });
  await world.rest();
  assert.deepEqual(taints(world, "n1"), ["not-ready:NoExecute", "not-ready:NoSchedule"]);
  await world.stop();
});

function taint(world: World, ...given: readonly Taint[]): void {
  world.api.put<Node>(refs.nodes, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    spec: { taints: given },
  });
}

function put(world: World, name: string, tolerationSeconds?: number): void {
  const own = given({ tolerationSeconds });
  const tolerations = [{ key: "gone", operator: "Exists", effect: "NoExecute", ...own }];
  world.api.put(refs.pods, pod(name, { spec: { containers: [], nodeName: "n1", tolerations } }));
}

test("pods go when they tolerate the taint no longer, also one that was put on by hand", async () => {
  const world = createWorld();
  taint(world);
  put(world, "forever");
  put(world, "patient", 30);
  world.api.put(refs.pods, pod("plain", { spec: { containers: [], nodeName: "n1" } }));
  await world.start((deps) => new TaintEvictionController(deps));
  taint(world, { key: "gone", effect: "NoExecute" });
  await world.rest();
  const going = (): readonly string[] =>
    world.api
      .peekAll<Pod>(refs.pods)
      .filter((one) => one.metadata?.deletionTimestamp !== undefined)
      .map((one) => one.metadata?.name ?? "");
  assert.deepEqual(going(), ["plain"]);
  const plain = world.api.peek<Pod>(refs.pods, "default", "plain");
  const target = plain?.status?.conditions?.[0];
  assert.equal(target?.reason, "DeletionByTaintManager");
  assert.equal(target?.message, "Taint manager: deleting due to NoExecute taint");
  assert.equal(target?.observedGeneration, plain?.metadata?.generation);
  await world.advance(29_000);
  assert.deepEqual(going(), ["plain"]);
  await world.advance(1_500);
  assert.deepEqual(going(), ["patient", "plain"]);
  await world.stop();
});

test("a taint that goes in time spares the pod, and is told", async () => {
  const world = createWorld();
  taint(world, { key: "gone", effect: "NoExecute" });
  put(world, "patient", 30);
  await world.start((deps) => new TaintEvictionController(deps));
  await world.advance(20_000);
  taint(world);
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  assert.deepEqual(world.events, [
    "Normal TaintManagerEviction Cancelling deletion of Pod default/patient",
  ]);
  await world.stop();
});

test("a run that ends leaves no look at the nodes behind", async () => {
  const world = createWorld();
  await world.start((deps) => new NodeLifecycleController(deps));
  assert.ok(world.clock.armed().includes("controllers.resync"));
  await world.stop();
  assert.ok(!world.clock.armed().includes("controllers.resync"));
});

test("evictions wait for the recovery budget, fairly between namespaces, without holding workers", async () => {
  const world = createWorld();
  taint(world, { key: "gone", effect: "NoExecute" });
  const spec = { containers: [], nodeName: "n1" };
  for (let at = 0; at < 60; at++) world.api.put(refs.pods, pod(`large-${at}`, { spec }));
  const small = pod("small", { spec });
  world.api.put(refs.pods, { ...small, metadata: { ...small.metadata, namespace: "small" } });
  const limits = { firstPerSecond: 20, leastPerSecond: 20, mostPerSecond: 20 };
  const recovery = new RecoveryBudget(world.clock, { limits });
  await world.start((deps) => new TaintEvictionController({ ...deps, recovery }));
  const going = (namespace: string): number =>
    world.api
      .peekAll<Pod>(refs.pods, namespace)
      .filter((one) => one.metadata?.deletionTimestamp !== undefined).length;
  assert.ok(going("default") <= 2, String(going("default")));
  await world.advance(200);
  assert.equal(going("small"), 1);
  await world.advance(1_000);
  assert.ok(going("default") >= 18 && going("default") <= 28, String(going("default")));
  await world.advance(4_000);
  assert.equal(going("default"), 60);
  assert.equal(recovery.waiting("evict"), 0);
  await world.stop();
});

test("a pod whose taint goes while it is in line leaves the line, and its grant serves another", async () => {
  const world = createWorld();
  taint(world, { key: "gone", effect: "NoExecute" });
  const spec = { containers: [], nodeName: "n1" };
  for (let at = 0; at < 10; at++) world.api.put(refs.pods, pod(`p${at}`, { spec }));
  const limits = { firstPerSecond: 5, leastPerSecond: 5, mostPerSecond: 5 };
  const recovery = new RecoveryBudget(world.clock, { limits });
  await world.start((deps) => new TaintEvictionController({ ...deps, recovery }));
  assert.ok(recovery.waiting("evict") >= 8);
  taint(world);
  await world.rest();
  assert.equal(recovery.waiting("evict"), 0);
  await world.advance(1_000);
  assert.equal(recovery.take("evict", "default"), undefined, "nothing is under way any more");
  await world.stop();
});
