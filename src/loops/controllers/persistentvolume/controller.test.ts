/** Claims and volumes over an API in memory: they converge, rest, and nobody's volume is given to another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { conflict, conflictModified } from "#api/status.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { VolumeBinder } from "./controller.ts";
import { makeClaim, makeClass, makeVolume } from "./testing/objects.ts";

const volumesRef = refs.persistentvolumes;
const claimsRef = refs.persistentvolumeclaims;

function claimIn(world: World, name: string): PersistentVolumeClaim | undefined {
  return world.api.peek<PersistentVolumeClaim>(claimsRef, "default", name);
}

function volumeIn(world: World, name: string): PersistentVolume | undefined {
  return world.api.peek<PersistentVolume>(volumesRef, "", name);
}

/** `c: Bound v, v: Bound default/c`, in order of name. */
function picture(world: World): string {
  const claims = world.api.peekAll<PersistentVolumeClaim>(claimsRef).map((one) => {
    const { spec, status } = one;
    return `${one.metadata?.name}: ${status?.phase} ${spec?.volumeName ?? "-"}`;
  });
  const volumes = world.api.peekAll<PersistentVolume>(volumesRef).map((one) => {
    const { claimRef } = one.spec ?? {};
    const owner = claimRef === undefined ? "-" : `${claimRef.namespace}/${claimRef.name}`;
    return `${one.metadata?.name}: ${one.status?.phase} ${owner}`;
  });
  return [...claims.sort(), ...volumes.sort()].join(", ");
}

async function started(...objects: readonly (PersistentVolume | PersistentVolumeClaim)[]) {
  const world = createWorld();
  for (const one of objects) {
    world.api.put(one.kind === "PersistentVolume" ? volumesRef : claimsRef, one);
  }
  await world.start((deps) => new VolumeBinder(deps));
  await world.advance(1_000);
  return world;
}

test("a claim and a new volume find each other, and a second run writes nothing", async () => {
  const world = await started(makeVolume("v", { phase: "Pending" }), makeClaim("c"));
  assert.equal(picture(world), "c: Bound v, v: Bound default/c");
  const [claim, volume] = [claimIn(world, "c"), volumeIn(world, "v")];
  assert.deepEqual(claim?.metadata?.annotations, {
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
  });
  assert.deepEqual(volume?.metadata?.annotations, {
    "pv.kubernetes.io/bound-by-controller": "yes",
  });
  assert.equal(volume?.spec?.claimRef?.uid, "uid-c");
  assert.deepEqual(claim?.status?.capacity, { storage: "1Gi" });
  assert.match(volume?.status?.lastPhaseTransitionTime ?? "", /^20.*Z$/);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new VolumeBinder(deps));
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a volume that comes after its claim is bound within a second", async () => {
  const world = await started(makeClaim("c"));
  assert.equal(picture(world), "c: Pending -");
  assert.match(world.events.join(), /FailedBinding no persistent volumes available/);
  world.api.put(volumesRef, makeVolume("v", { phase: "Pending" }));
  await world.advance(1_000);
  assert.equal(picture(world), "c: Bound v, v: Bound default/c");
  await world.stop();
});

test("two claims race for one volume: one gets it, the other waits, no write is lost", async () => {
  const world = await started(makeClaim("a"), makeClaim("b"), makeVolume("v"));
  assert.equal(picture(world), "a: Bound v, b: Pending -, v: Bound default/a");
  const updates = world.api.calls.filter(
    ({ verb, resource }) => verb === "update" && resource === "persistentvolumes",
  );
  assert.equal(updates.length, 2, "the binding and the phase, of one claim");
  await world.stop();
});

test("a write refused as stale is tried again, and the volume is free until then", async () => {
  const world = createWorld();
  world.api.put(volumesRef, makeVolume("v"));
  world.api.put(claimsRef, makeClaim("c"));
  const stale = conflict(volumesRef, "v", conflictModified);
  world.api.fail(
    ({ verb, resource }) => verb === "update" && resource === "persistentvolumes",
    stale,
  );
  await world.start((deps) => new VolumeBinder(deps));
  await world.advance(5_000);
  assert.equal(picture(world), "c: Bound v, v: Bound default/c");
  await world.stop();
});

for (const cut of [
  "persistentvolumes/status",
  "persistentvolumeclaims/",
  "persistentvolumeclaims/status",
]) {
  test(`a binding cut before the write of ${cut} is completed by the next process`, async () => {
    const world = createWorld();
    world.api.put(volumesRef, makeVolume("v"));
    world.api.put(claimsRef, makeClaim("c"));
    const down = Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
    const isCut = (call: { verb: string; resource: string; subresource: string }): boolean =>
      call.verb === "update" && `${call.resource}/${call.subresource}` === cut;
    world.api.fail(isCut, down, 1);
    await world.start((deps) => new VolumeBinder(deps));
    await world.stop();
    await world.start((deps) => new VolumeBinder(deps));
    await world.advance(5_000);
    assert.equal(picture(world), "c: Bound v, v: Bound default/c");
    await world.stop();
  });
}

test("a volume reserved in another namespace, or with another uid, is given to nobody else", async () => {
  const world = await started(
    makeClaim("c"),
    makeVolume("foreign", { claimRef: "other/c" }),
    makeVolume("stale", { claimRef: "default/c/uid-earlier", policy: "Retain" }),
  );
  assert.equal(
    picture(world),
    "c: Pending -, foreign: Available other/c, stale: Released default/c",
  );
  await world.stop();
});

test("a claim made again under its name does not get the data of the first", async () => {
  const world = await started(makeVolume("v"), makeClaim("c"));
  world.api.drop(claimsRef, "default", "c");
  world.api.put(claimsRef, makeClaim("c", { uid: "uid-second" }));
  await world.advance(2_000);
  assert.equal(picture(world), "c: Pending -, v: Released default/c");
  await world.stop();
});

test("a claim that names its volume, and a volume that names its claim, are bound to each other only", async () => {
  const world = await started(
    makeClaim("a", { volumeName: "va" }),
    makeVolume("aa"),
    makeVolume("va", { size: "5Gi" }),
    makeClaim("b"),
    makeVolume("vb", { size: "5Gi", claimRef: "default/b" }),
  );
  assert.equal(
    picture(world),
    "a: Bound va, b: Bound vb, aa: Available -, va: Bound default/a, vb: Bound default/b",
  );
  const reserved = volumeIn(world, "vb")?.metadata?.annotations;
  assert.equal(reserved, undefined, "the user's choice is not marked as ours");
  await world.stop();
});

test("a released volume is kept, deleted or failed by its policy; data elsewhere than /tmp is not touched", async () => {
  const claimRef = "default/gone/uid-gone";
  const world = await started(
    makeVolume("kept", { phase: "Bound", claimRef }),
    makeVolume("dropped", { phase: "Bound", claimRef, policy: "Delete" }),
    makeVolume("etc", {
      phase: "Bound",
      claimRef,
      policy: "Delete",
      spec: { hostPath: { path: "/etc" } },
    }),
    makeVolume("external", {
      phase: "Bound",
      claimRef,
      policy: "Delete",
      spec: { csi: { driver: "d", volumeHandle: "h" } },
    }),
  );
  assert.equal(volumeIn(world, "kept")?.status?.phase, "Released");
  assert.notEqual(volumeIn(world, "dropped")?.metadata?.deletionTimestamp, undefined);
  assert.equal(volumeIn(world, "etc")?.status?.phase, "Failed");
  assert.match(volumeIn(world, "etc")?.status?.message ?? "", /^host_path deleter only supports/);
  assert.equal(volumeIn(world, "external")?.status?.phase, "Released");
  world.forgetCalls();
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a claim whose volume goes is Lost, and bound again when the volume comes back", async () => {
  const world = await started(makeVolume("v"), makeClaim("c"));
  world.api.drop(volumesRef, "", "v");
  await world.advance(1_000);
  assert.equal(picture(world), "c: Lost v");
  assert.match(world.events.join(), /Warning ClaimLost Bound claim has lost its PersistentVolume/);
  world.api.put(volumesRef, makeVolume("v", { phase: "Pending" }));
  await world.advance(1_000);
  assert.equal(picture(world), "c: Bound v, v: Bound default/c");
  await world.stop();
});

test("a claim gets the default class when there is one at last, and is handed to its provisioner", async () => {
  const { storageClassName: _, ...spec } = makeClaim("c").spec ?? {};
  const world = await started({ ...makeClaim("c"), spec });
  assert.equal(claimIn(world, "c")?.spec?.storageClassName, undefined);
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  world.api.put(refs.storageclasses, {
    ...makeClass("std", "csi.example.com"),
    metadata: { name: "std", annotations },
  });
  await world.advance(2_000);
  assert.equal(claimIn(world, "c")?.spec?.storageClassName, "std");
  assert.deepEqual(claimIn(world, "c")?.metadata?.annotations, {
    "volume.beta.kubernetes.io/storage-provisioner": "csi.example.com",
    "volume.kubernetes.io/storage-provisioner": "csi.example.com",
  });
  assert.match(
    world.events.join(),
    /ExternalProvisioning Waiting for a volume to be created either/,
  );
  await world.stop();
});

test("a claim that waits for a consumer names the pods, and is bound once the scheduler has chosen", async () => {
  const world = createWorld();
  world.api.put(
    refs.storageclasses,
    makeClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
  );
  world.api.put(claimsRef, makeClaim("c", { className: "local" }));
  world.api.put(volumesRef, makeVolume("v", { className: "local" }));
  const volumes = [{ name: "d", persistentVolumeClaim: { claimName: "c" } }];
  world.api.put(
    refs.pods,
    pod("p", { spec: { containers: [], volumes }, status: { phase: "Pending" } }),
  );
  await world.start((deps) => new VolumeBinder(deps));
  await world.advance(1_000);
  assert.equal(picture(world), "c: Pending -, v: Available -");
  assert.match(world.events.join(), /WaitForPodScheduled waiting for pod p to be scheduled/);
  const chosen = volumeIn(world, "v");
  const claimRef = { namespace: "default", name: "c", uid: "uid-c" };
  world.api.put(volumesRef, { ...chosen, spec: { ...chosen?.spec, claimRef } } as PersistentVolume);
  await world.advance(1_000);
  assert.equal(picture(world), "c: Bound v, v: Bound default/c");
  await world.stop();
});

test("waiting claims are woken together, not once for each volume that does not suit them", async () => {
  const claims = Array.from({ length: 50 }, (_, i) => makeClaim(`c${i}`, { size: "10Gi" }));
  const world = await started(...claims);
  world.forgetCalls();
  const before = world.events.length;
  for (let i = 0; i < 50; i++) {
    world.api.put(volumesRef, makeVolume(`v${i}`));
    await world.rest();
  }
  await world.advance(1_000);
  assert.deepEqual(world.writes(), []);
  assert.equal(world.events.length, before);
  await world.stop();
});
