/** A VolumeAttributesClass that is deleted goes, but not before its last user. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, type World } from "../testing/world.ts";
import { AttributesClassProtectionController } from "./attributes-class-controller.ts";

const finalizers = ["kubernetes.io/vac-protection"];
const ref = refs.volumeattributesclasses;

function put(world: World, name: string, metadata: object = { finalizers }): void {
  world.api.put(ref, { metadata: { name, ...metadata } });
}

const start = (world: World) =>
  world.start((deps) => new AttributesClassProtectionController(deps));

test("a deleted class that nobody names is gone at once; one made without the finalizer gets it", async () => {
  const world = createWorld();
  put(world, "gold");
  put(world, "bare", {});
  await start(world);
  assert.deepEqual(world.api.peek(ref, "", "bare")?.metadata?.finalizers, finalizers);
  world.forgetCalls();
  await world.rest();
  assert.deepEqual(world.writes(), []);
  await world.api.delete(ref, "", "gold");
  await world.rest();
  assert.deepEqual(names(world.api, ref), ["bare"]);
  await world.stop();
});

const claimsRef = refs.persistentvolumeclaims;
const users: readonly (readonly [string, PersistentVolumeClaim])[] = [
  ["the wish", { spec: { volumeAttributesClassName: "gold" } }],
  ["the present class", { status: { currentVolumeAttributesClassName: "gold" } }],
  [
    "the target of a change",
    {
      status: {
        modifyVolumeStatus: { status: "Pending", targetVolumeAttributesClassName: "gold" },
      },
    },
  ],
];
for (const [what, fields] of users) {
  test(`a class is kept while it is ${what} of a claim`, async () => {
    const world = createWorld();
    put(world, "gold");
    const metadata = { name: "c", namespace: "default" };
    world.api.put<PersistentVolumeClaim>(claimsRef, { metadata, ...fields });
    await start(world);
    await world.api.delete(ref, "", "gold");
    await world.rest();
    assert.deepEqual(names(world.api, ref), ["gold"]);
    world.api.put<PersistentVolumeClaim>(claimsRef, { metadata, spec: {}, status: {} });
    await world.rest();
    assert.deepEqual(names(world.api, ref), []);
    await world.stop();
  });
}

test("a class is kept while a volume has it", async () => {
  const world = createWorld();
  put(world, "gold");
  const spec = { volumeAttributesClassName: "gold" };
  world.api.put<PersistentVolume>(refs.persistentvolumes, { metadata: { name: "v" }, spec });
  await start(world);
  await world.api.delete(ref, "", "gold");
  await world.rest();
  assert.deepEqual(names(world.api, ref), ["gold"]);
  world.api.drop(refs.persistentvolumes, "", "v");
  await world.rest();
  assert.deepEqual(names(world.api, ref), []);
  await world.stop();
});
