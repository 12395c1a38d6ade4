/** status.used is what is there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceQuota } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";
import { refs } from "../framework/refs.ts";
import { coreResources, documents } from "../testing/discovery.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { ResourceQuotaController } from "./controller.ts";
import { quotaStatus, sameQuotaStatus } from "./status.ts";

const claimResource = {
  name: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
  verbs: ["list", "watch"],
};
const withClaims = { ...documents, "/api/v1": { resources: [...coreResources, claimResource] } };

type Hard = Readonly<Record<string, string>>;

function quota(world: World, hard: Hard, status: ResourceQuota["status"] = {}): void {
  const metadata = { name: "q", namespace: "default" };
  world.api.put<ResourceQuota>(refs.resourcequotas, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata,
    spec: { hard },
    status,
  });
}

function asking(name: string, cpu: string, fields: Partial<Pod> = {}): Pod {
  const containers = [{ name: "c", resources: { requests: { cpu } } }];
  return pod(name, { spec: { containers }, status: { phase: "Running" }, ...fields });
}

function used(world: World): unknown {
  return world.api.peek<ResourceQuota>(refs.resourcequotas, "default", "q")?.status?.used;
}

test("a quota counts what is there, falls when it goes or ends, and a second run writes nothing", async () => {
  const world = createWorld(documents);
  quota(world, { pods: "10", "requests.cpu": "4", "count/configmaps": "5" });
  world.api.put(refs.pods, asking("a", "500m"));
  world.api.put(refs.pods, asking("b", "1"));
  world.api.put(refs.pods, asking("far", "1", { metadata: { namespace: "other" } }));
  world.api.put(refs.configmaps, { metadata: { name: "c", namespace: "default" } });
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  assert.deepEqual(used(world), { pods: "2", "requests.cpu": "1500m", "count/configmaps": "1" });
  world.api.drop(refs.configmaps, "default", "c");
  world.setPod("b", { phase: "Succeeded" });
  await world.rest();
  assert.deepEqual(used(world), { pods: "1", "requests.cpu": "500m", "count/configmaps": "0" });
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("what admission charged in vain is found within five minutes", async () => {
  const world = createWorld(documents);
  quota(world, { pods: "10" });
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  quota(world, { pods: "10" }, { hard: { pods: "10" }, used: { pods: "7" } });
  await world.advance(60_000);
  assert.deepEqual(used(world), { pods: "7" });
  await world.advance(5 * 60_000);
  assert.deepEqual(used(world), { pods: "0" });
  await world.stop();
});

interface Scoped {
  readonly scope: NonNullable<ResourceQuota["spec"]>;
  readonly ref: ResourceRef;
  readonly object: KubeObject;
  readonly changed: KubeObject;
  /** Before, after, and when it is changed back. */
  readonly counts: readonly [string, string];
}

function running(name: string, spec: Partial<NonNullable<Pod["spec"]>>): KubeObject {
  const containers = [{ name: "c" }];
  return pod(name, { spec: { containers, ...spec }, status: { phase: "Running" } }) as KubeObject;
}

function claim(spec: object, status: object = {}): KubeObject {
  const metadata = { name: "one", namespace: "default" };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec, status } as KubeObject;
}

const asksCpu = [{ name: "c", resources: { requests: { cpu: "1" } } }];
const gold = [{ scopeName: "VolumeAttributesClass", operator: "In", values: ["gold"] }];
const goldClaims = {
  hard: { persistentvolumeclaims: "5" },
  scopeSelector: { matchExpressions: gold },
};

const scoped: Readonly<Record<string, Scoped>> = {
  Terminating: {
    scope: { hard: { pods: "5" }, scopes: ["Terminating"] },
    ref: refs.pods,
    object: running("one", {}),
    changed: running("one", { activeDeadlineSeconds: 60 }),
    counts: ["0", "1"],
  },
  NotTerminating: {
    scope: { hard: { pods: "5" }, scopes: ["NotTerminating"] },
    ref: refs.pods,
    object: running("one", {}),
    changed: running("one", { activeDeadlineSeconds: 60 }),
    counts: ["1", "0"],
  },
  BestEffort: {
    scope: { hard: { pods: "5" }, scopes: ["BestEffort"] },
    ref: refs.pods,
    object: running("one", {}),
    changed: running("one", { containers: asksCpu }),
    counts: ["1", "0"],
  },
  NotBestEffort: {
    scope: { hard: { pods: "5" }, scopes: ["NotBestEffort"] },
    ref: refs.pods,
    object: running("one", {}),
    changed: running("one", { containers: asksCpu }),
    counts: ["0", "1"],
  },
  PriorityClass: {
    scope: {
      hard: { pods: "5" },
      scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "Exists" }] },
    },
    ref: refs.pods,
    object: running("one", {}),
    changed: running("one", { priorityClassName: "high" }),
    counts: ["0", "1"],
  },
  "VolumeAttributesClass asked for": {
    scope: goldClaims,
    ref: refs.persistentvolumeclaims,
    object: claim({}),
    changed: claim({ volumeAttributesClassName: "gold" }),
    counts: ["0", "1"],
  },
  "VolumeAttributesClass in effect": {
    scope: goldClaims,
    ref: refs.persistentvolumeclaims,
    object: claim({}),
    changed: claim({}, { currentVolumeAttributesClassName: "gold" }),
    counts: ["0", "1"],
  },
  "VolumeAttributesClass on its way": {
    scope: goldClaims,
    ref: refs.persistentvolumeclaims,
    object: claim({}),
    changed: claim({}, { modifyVolumeStatus: { targetVolumeAttributesClassName: "gold" } }),
    counts: ["0", "1"],
  },
};

for (const [name, { scope, ref, object, changed, counts }] of Object.entries(scoped)) {
  test(`an object that comes into a scope or leaves it counts otherwise at once: ${name}`, async () => {
    const world = createWorld(withClaims);
    world.api.put<ResourceQuota>(refs.resourcequotas, {
      metadata: { name: "q", namespace: "default" },
      spec: scope,
    });
    world.api.put(ref, object);
    await world.start((deps) => new ResourceQuotaController(deps));
    await world.advance(2_000);
    const [limit = ""] = Object.keys(scope.hard ?? {});
    const count = (): unknown => (used(world) as Hard)[limit];
    assert.equal(count(), counts[0]);
    world.api.put(ref, changed);
    await world.rest();
    assert.equal(count(), counts[1]);
    world.api.put(ref, object);
    await world.rest();
    assert.equal(count(), counts[0]);
    await world.stop();
  });
}

test("a change that is none to a quota makes no work for it", async () => {
  const world = createWorld(documents);
  quota(world, { pods: "10" });
  world.api.put(refs.pods, asking("a", "1"));
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  quota(world, { pods: "10" }, { hard: { pods: "10" }, used: { pods: "7" } });
  world.api.put(refs.pods, asking("a", "2"));
  await world.rest();
  assert.deepEqual(used(world), { pods: "7" }, "it was not counted again");
  await world.stop();
});

test("names that nobody counts keep what was said of them", () => {
  const given: ResourceQuota = {
    spec: { hard: { pods: "1", odd: "3" } },
    status: { used: { odd: "2", gone: "1" } },
  };
  assert.deepEqual(quotaStatus(given, {}), { hard: { pods: "1", odd: "3" }, used: { odd: "2" } });
});

test("equal amounts are equal however they are written", () => {
  const a = { hard: { "requests.cpu": "2" }, used: { "requests.cpu": "1" } };
  assert.equal(sameQuotaStatus({ hard: a.hard, used: { "requests.cpu": "1000m" } }, a), true);
  assert.equal(sameQuotaStatus({ hard: a.hard, used: { "requests.cpu": "1001m" } }, a), false);
  assert.equal(sameQuotaStatus({ hard: a.hard }, a), false);
});
