/** Claims that grow: handed over once, and only when they ask for more than they have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, type World } from "../testing/world.ts";
import { ExpandController } from "./controller.ts";

const csi = { csi: { driver: "csi.example.com", volumeHandle: "h" } };
const disk = { gcePersistentDisk: { pdName: "d" } };
const resizer = "volume.kubernetes.io/storage-resizer";

function claim(wanted: string, held: string): PersistentVolumeClaim {
  return {
    metadata: { name: "c", namespace: "default", uid: "uid-c" },
    spec: { volumeName: "v", resources: { requests: { storage: wanted } } },
    status: { phase: "Bound", capacity: { storage: held } },
  };
}

function volume(source: object, uid = "uid-c"): PersistentVolume {
  const claimRef = { namespace: "default", name: "c", uid };
  return { metadata: { name: "v" }, spec: { claimRef, ...source } };
}

async function started(one: PersistentVolumeClaim, bound: PersistentVolume): Promise<World> {
  const world = createWorld();
  world.api.put(refs.persistentvolumes, bound);
  world.api.put(refs.persistentvolumeclaims, one);
  await world.start((deps) => new ExpandController(deps));
  return world;
}

const expanding = (world: World): readonly string[] =>
  world.events.filter((text) => text.includes("ExternalExpanding"));

test("a claim that grows waits for its driver's resizer, and says so", async () => {
  const world = await started(claim("1Gi", "1Gi"), volume(csi));
  assert.deepEqual(expanding(world), []);
  world.api.put(refs.persistentvolumeclaims, claim("2Gi", "1Gi"));
  await world.rest();
  assert.deepEqual(expanding(world), [
    "Normal ExternalExpanding waiting for an external controller to expand this PVC",
  ]);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a volume whose work a CSI driver does names that driver for its resizer, once", async () => {
  const world = await started(claim("2Gi", "1Gi"), volume(disk));
  const [text] = expanding(world);
  assert.equal(
    text,
    "Normal ExternalExpanding CSI migration enabled for kubernetes.io/gce-pd; waiting for external resizer to expand the pvc",
  );
  const metadata = { annotations: { [resizer]: "pd.csi.storage.gke.io" } };
  assert.deepEqual(world.writes(), ["patch persistentvolumeclaims/status default/c"]);
  await world.stop();
  const done = claim("2Gi", "1Gi");
  const named = { ...done, metadata: { ...done.metadata, ...metadata } };
  world.api.put(refs.persistentvolumeclaims, named);
  world.forgetCalls();
  await world.start((deps) => new ExpandController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a volume that is another claim's hands nothing over", async () => {
  const world = await started(claim("2Gi", "1Gi"), volume(disk, "uid-other"));
  await world.advance(1_000);
  assert.deepEqual([...expanding(world), ...world.writes()], []);
  await world.stop();
});
