/** Claims of generic ephemeral volumes: made once, owned by their pod, and never taken from another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import { internalError } from "#api/status.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, pod, type World } from "../testing/world.ts";
import { EphemeralVolumeController } from "./controller.ts";

const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

function scratchPod(name: string, fields: Partial<Pod> = {}): Pod {
  const volumeClaimTemplate = { metadata: { labels: { kind: "scratch" } }, spec };
  const volumes = [{ name: "data", ephemeral: { volumeClaimTemplate } }];
  return pod(name, { spec: { containers: [], volumes }, ...fields });
}

const start = (world: World) => world.start((deps) => new EphemeralVolumeController(deps));

function claimIn(world: World, name: string): PersistentVolumeClaim | undefined {
  return world.api.peek(refs.persistentvolumeclaims, "default", name);
}

test("a pod's ephemeral volume gets a claim of its own, and a second run writes nothing", async () => {
  const world = createWorld();
  world.api.put(refs.pods, scratchPod("p"));
  await start(world);
  const claim = claimIn(world, "p-data");
  assert.deepEqual(claim?.spec, spec);
  assert.deepEqual(claim?.metadata?.labels, { kind: "scratch" });
  assert.deepEqual(claim?.metadata?.ownerReferences, [
    {
      apiVersion: "v1",
      kind: "Pod",
      name: "p",
      uid: "uid-p",
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
  await world.stop();
  world.forgetCalls();
  await start(world);
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a claim that is deleted is made again while its pod lives, and not for a pod that is going", async () => {
  const world = createWorld();
  world.api.put(refs.pods, scratchPod("p"));
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  world.api.put(refs.pods, scratchPod("going", { metadata: { name: "going", deletionTimestamp } }));
  await start(world);
  world.api.drop(refs.persistentvolumeclaims, "default", "p-data");
  await world.rest();
  assert.deepEqual(names(world.api, refs.persistentvolumeclaims), ["p-data"]);
  await world.stop();
});

test("a claim of that name that the pod does not own is left alone, and an event says so", async () => {
  const world = createWorld();
  const metadata = { name: "p-data", namespace: "default" };
  world.api.put(refs.persistentvolumeclaims, { metadata });
  world.api.put(refs.pods, scratchPod("p"));
  await start(world);
  assert.deepEqual(world.writes(), []);
  assert.ok(
    world.events.includes(
      "Warning FailedBinding ephemeral volume data: PVC default/p-data was not created for pod default/p (pod is not owner)",
    ),
    world.events.join(),
  );
  await world.stop();
});

test("a refused create is told and tried again", async () => {
  const world = createWorld();
  world.api.put(refs.pods, scratchPod("p"));
  world.api.fail(({ verb }) => verb === "create", internalError("no room"));
  await start(world);
  assert.match(
    world.events.join(),
    /FailedBinding ephemeral volume data: create PVC p-data: .*no room/,
  );
  await world.advance(5_000);
  assert.deepEqual(names(world.api, refs.persistentvolumeclaims), ["p-data"]);
  await world.stop();
});
