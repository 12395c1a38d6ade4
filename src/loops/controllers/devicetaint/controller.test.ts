/** Pods with tainted devices are evicted, at once or when their tolerations end, and spared when the taint goes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceTaint, DeviceToleration, Pod, ResourceClaim } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { internalError, notFound } from "#api/status.ts";
import { RecoveryBudget } from "#client/recovery-budget.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { DeviceTaintEvictionController } from "./controller.ts";

const driver = "gpu.example.com";
const broken: DeviceTaint = { key: "broken", effect: "NoExecute" };
const start = (world: World) => world.start((deps) => new DeviceTaintEvictionController(deps));

/** Publishes a slice of pool n1, whose devices gpu-0, gpu-1 … have these taints. */
function publish(world: World, taints: readonly (readonly DeviceTaint[])[], generation = 1): void {
  world.api.put(refs.resourceslices, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: `n1-${generation}` },
    spec: {
      driver,
      pool: { name: "n1", generation, resourceSliceCount: 1 },
      devices: taints.map((own, at) => ({ name: `gpu-${at}`, taints: own })),
    },
  });
}

const dated = (world: World): DeviceTaint => ({ ...broken, timeAdded: world.now() });

function tolerated(tolerationSeconds?: number | bigint): readonly DeviceToleration[] {
  const own = given({ tolerationSeconds });
  return [{ key: "broken", operator: "Exists", effect: "NoExecute", ...own }];
}

/** A pod on n1 and its claim, with the device allocated. */
function use(
  world: World,
  name: string,
  device: string,
  { tolerations = [] as readonly DeviceToleration[], namespace = "default" } = {},
): void {
  const results = [{ request: "r", driver, pool: "n1", device, tolerations }];
  const reservedFor = [{ resource: "pods", name, uid: `uid-${name}` }];
  world.api.put(refs.resourceclaims, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name, namespace },
    spec: {},
    status: { allocation: { devices: { results } }, reservedFor },
  });
  const resourceClaims = [{ name: "gpu", resourceClaimName: name }];
  const made = pod(name, { spec: { containers: [], nodeName: "n1", resourceClaims } });
  world.api.put(refs.pods, { ...made, metadata: { ...made.metadata, namespace } });
}

function going(world: World, namespace?: string): readonly string[] {
  return world.api
    .peekAll<Pod>(refs.pods, namespace)
    .filter((one) => one.metadata?.deletionTimestamp !== undefined)
    .map((one) => one.metadata?.name ?? "")
    .toSorted();
}

test("pods go when their devices are tainted and the claim tolerates it no longer", async () => {
  const world = createWorld();
  publish(world, [[], []]);
  use(world, "plain", "gpu-0");
  use(world, "patient", "gpu-0", { tolerations: tolerated(30) });
  use(world, "forever", "gpu-0", { tolerations: tolerated() });
  use(world, "neighbour", "gpu-1");
  await start(world);
  assert.deepEqual(world.writes(), []);
  publish(world, [[dated(world)], [{ ...broken, effect: "NoSchedule" }]]);
  await world.rest();
  assert.deepEqual(going(world), ["plain"]);
  assert.deepEqual(world.writes(), [
    "patch pods/status default/plain",
    "delete pods default/plain",
  ]);
  assert.deepEqual(world.events, ["Normal DeviceTaintManagerEviction Marking for deletion"]);
  const [target] = world.api.peek<Pod>(refs.pods, "default", "plain")?.status?.conditions ?? [];
  assert.deepEqual(target, {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByDeviceTaintManager",
    message: "Device Taint manager: deleting due to NoExecute taint",
    lastTransitionTime: world.now(),
  });
  await world.advance(29_000);
  assert.deepEqual(going(world), ["plain"]);
  await world.advance(1_500);
  assert.deepEqual(going(world), ["patient", "plain"]);
  world.forgetCalls();
  await world.advance(600_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

const ends: Readonly<Record<string, (world: World) => unknown>> = {
  "the taint goes": (world) => publish(world, [[]]),
  "a newer generation of the pool has no taint": (world) => publish(world, [[]], 2),
  "the slice goes": ({ api }) => api.delete(refs.resourceslices, "", "n1-1"),
  "the claim goes": ({ api }) => api.delete(refs.resourceclaims, "default", "patient"),
  "the claim is reserved for another": ({ api }) => {
    const claim = api.peek<ResourceClaim>(refs.resourceclaims, "default", "patient");
    assert.ok(claim !== undefined);
    api.put(refs.resourceclaims, { ...claim, status: { ...claim.status, reservedFor: [] } });
  },
};

for (const [when, end] of Object.entries(ends)) {
  test(`a waiting pod is spared when ${when}`, async () => {
    const world = createWorld();
    publish(world, [[dated(world)]]);
    use(world, "patient", "gpu-0", { tolerations: tolerated(30) });
    await start(world);
    await world.advance(20_000);
    await end(world);
    await world.advance(60_000);
    assert.deepEqual(going(world), []);
    assert.deepEqual(world.events, ["Normal DeviceTaintManagerEviction Cancelling deletion"]);
    await world.stop();
  });
}

test("a taint of an old generation counts again when the newer slice goes", async () => {
  const world = createWorld();
  publish(world, [[dated(world)]]);
  publish(world, [[]], 2);
  use(world, "p", "gpu-0");
  await start(world);
  assert.deepEqual(going(world), []);
  await world.api.delete(refs.resourceslices, "", "n1-2");
  await world.rest();
  assert.deepEqual(going(world), ["p"]);
  await world.stop();
});

test("a claim that is reserved later, on a device that is tainted already, evicts its pod", async () => {
  const world = createWorld();
  publish(world, [[dated(world)]]);
  await start(world);
  use(world, "late", "gpu-0");
  await world.rest();
  assert.deepEqual(going(world), ["late"]);
  await world.stop();
});

test("a refused deletion is tried again, and a pod that is gone meanwhile is not", async () => {
  const world = createWorld();
  publish(world, [[dated(world)]]);
  use(world, "p", "gpu-0");
  world.api.fail(({ verb }) => verb === "delete", internalError("no"));
  await start(world);
  await world.advance(1_000);
  assert.deepEqual(going(world), ["p"]);
  const gone = notFound({ group: "", resource: "pods" }, "gone");
  world.api.fail(({ verb }) => verb === "patch", gone, Infinity);
  use(world, "gone", "gpu-0");
  await world.rest();
  world.forgetCalls();
  await world.advance(600_000);
  assert.deepEqual([world.writes(), going(world)], [[], ["p"]]);
  await world.stop();
});

test("evictions wait for the recovery budget, fairly between namespaces, and leave the line", async () => {
  const world = createWorld();
  publish(world, [[], []]);
  for (let at = 0; at < 60; at++) use(world, `large-${at}`, "gpu-0");
  use(world, "small", "gpu-0", { namespace: "small" });
  const limits = { firstPerSecond: 20, leastPerSecond: 20, mostPerSecond: 20 };
  const recovery = new RecoveryBudget(world.clock, { limits });
  await world.start((deps) => new DeviceTaintEvictionController({ ...deps, recovery }));
  publish(world, [[dated(world)], []]);
  await world.rest();
  assert.ok(going(world, "default").length <= 2);
  await world.advance(300);
  assert.deepEqual(going(world, "small"), ["small"]);
  publish(world, [[], []]);
  await world.advance(2_000);
  const evicted = going(world, "default").length;
  assert.ok(evicted < 20, String(evicted));
  assert.equal(recovery.waiting("evict"), 0);
  publish(world, [[dated(world)], []]);
  await world.advance(6_000);
  assert.equal(going(world, "default").length, 60);
  await world.stop();
});

test("a thousand taints with hostile keys evict once, and 2^62 seconds are waited for", async () => {
  const world = createWorld();
  const keys = ["__proto__", "constructor", "\u0000", "a/".repeat(500), "ключ"];
  const hostile = Array.from({ length: 1_000 }, (_, at) => {
    const key = `${keys[at % keys.length] ?? ""}${at < keys.length ? "" : at}`;
    return { ...dated(world), key };
  });
  publish(world, [hostile, [dated(world)]]);
  use(world, "many", "gpu-0");
  use(world, "patient", "gpu-1", { tolerations: tolerated(2n ** 62n) });
  const every = hostile.map(({ key }) => ({ key, operator: "Exists", effect: "NoExecute" }));
  use(world, "tolerant", "gpu-0", { tolerations: every });
  await start(world);
  await world.advance(365 * 86_400_000);
  assert.deepEqual(going(world), ["many"]);
  const markings = world.events.filter((event) => event.endsWith("Marking for deletion"));
  assert.equal(markings.length, 1);
  await world.stop();
});
