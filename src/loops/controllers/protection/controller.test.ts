/** Claims and volumes in use are not lost, those out of use are not kept. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, pod, type World } from "../testing/world.ts";
import { claimsOf, usesClaim } from "./claims.ts";
import { ClaimProtectionController } from "./claim-controller.ts";
import { VolumeProtectionController } from "./volume-controller.ts";

const finalizers = ["kubernetes.io/pvc-protection"];

function claim(world: World, name: string, fields: object = { finalizers }): void {
  world.api.put(refs.persistentvolumeclaims, {
    metadata: { name, namespace: "default", ...fields },
  });
}

function user(name: string, claimName: string, nodeName = "n1"): Pod {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName } }];
  return pod(name, { spec: { containers: [], nodeName, volumes } });
}

const claims = (world: World): readonly string[] => names(world.api, refs.persistentvolumeclaims);

test("a deleted claim goes at once when nobody uses it, else with its last pod", async () => {
  const world = createWorld();
  claim(world, "free");
  claim(world, "used");
  world.api.put(refs.pods, user("p", "used"));
  await world.start((deps) => new ClaimProtectionController(deps));
  assert.deepEqual(world.writes(), []);
  for (const name of ["free", "used"])
    await world.api.delete(refs.persistentvolumeclaims, "default", name);
  await world.rest();
  assert.deepEqual(claims(world), ["used"]);
  world.api.drop(refs.pods, "default", "p");
  await world.rest();
  assert.deepEqual(claims(world), []);
  await world.stop();
});

test("a pod that the cache does not show yet keeps its claim", async () => {
  const world = createWorld();
  claim(world, "used");
  await world.start((deps) => new ClaimProtectionController(deps));
  world.api.cutWatches();
  world.api.put(refs.pods, user("p", "used"));
  await world.api.delete(refs.persistentvolumeclaims, "default", "used");
  await world.advance(30_000);
  assert.deepEqual(claims(world), ["used"]);
  await world.stop();
});

test("a claim or volume made without the finalizer gets it", async () => {
  const world = createWorld();
  claim(world, "bare", {});
  world.api.put(refs.persistentvolumes, { metadata: { name: "pv" } });
  await world.start(
    (deps) => new ClaimProtectionController(deps),
    (deps) => new VolumeProtectionController(deps),
  );
  const stored = world.api.peek<PersistentVolumeClaim>(
    refs.persistentvolumeclaims,
    "default",
    "bare",
  );
  assert.deepEqual(stored?.metadata?.finalizers, finalizers);
  const volume = world.api.peek(refs.persistentvolumes, "", "pv");
  assert.deepEqual(volume?.metadata?.finalizers, ["kubernetes.io/pv-protection"]);
  await world.stop();
});

test("a bound volume stays until it is not", async () => {
  const world = createWorld();
  const metadata = { name: "pv", finalizers: ["kubernetes.io/pv-protection"] };
  world.api.put(refs.persistentvolumes, { metadata, status: { phase: "Bound" } } as object);
  await world.start((deps) => new VolumeProtectionController(deps));
  await world.api.delete(refs.persistentvolumes, "", "pv");
  await world.rest();
  const bound = world.api.peek(refs.persistentvolumes, "", "pv");
  assert.notEqual(bound, undefined);
  world.api.put(refs.persistentvolumes, { ...bound, status: { phase: "Released" } } as object);
  await world.rest();
  assert.deepEqual(names(world.api, refs.persistentvolumes), []);
  await world.stop();
});

const data: PersistentVolumeClaim = { metadata: { name: "p-v", namespace: "default" } };
const owned: PersistentVolumeClaim = {
  metadata: {
    ...data.metadata,
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "uid-p", controller: true }],
  },
};
const ephemeral = pod("p", {
  spec: { containers: [], nodeName: "n1", volumes: [{ name: "v", ephemeral: {} }] },
});
const uses: readonly (readonly [string, Pod, PersistentVolumeClaim, boolean])[] = [
  ["by name", user("p", "p-v"), data, true],
  ["another", user("p", "other"), data, false],
  ["not without a node", user("p", "p-v", ""), data, false],
  ["its own ephemeral one", ephemeral, owned, true],
  ["not a namesake of its ephemeral one", ephemeral, data, false],
  [
    "not when the kubelet is done with it",
    {
      ...ephemeral,
      metadata: { ...ephemeral.metadata, deletionTimestamp: "t", deletionGracePeriodSeconds: 0 },
    },
    owned,
    false,
  ],
];
for (const [what, one, given, expected] of uses) {
  test(`a pod uses a claim: ${what}`, () => {
    assert.equal(usesClaim(one, given), expected);
    if (expected) assert.ok(claimsOf(one).includes("default/p-v"));
  });
}
