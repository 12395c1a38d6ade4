/** VolumeAttachments follow pods, and no volume is taken from a node that may still write to it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { Node, VolumeAttachment } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, pod, type World } from "../testing/world.ts";
import { AttachDetachController } from "./controller.ts";
import { attachmentName } from "./plan.ts";

const ref = refs.volumeattachments;
const driver = "csi.example.com";
const inUse = `kubernetes.io/csi/${driver}^handle-v`;

function putNode(world: World, name: string, fields: object = {}, status: object = {}): void {
  const annotations = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
  const conditions = [{ type: "Ready", status: "True" }];
  const metadata = { name, annotations };
  world.api.put<Node>(refs.nodes, { metadata, status: { conditions, ...status }, ...fields });
}

function putVolume(world: World, accessModes = ["ReadWriteOnce"]): void {
  const claimRef = { namespace: "default", name: "c", uid: "uid-c" };
  const csi = { driver, volumeHandle: "handle-v" };
  world.api.put(refs.persistentvolumes, {
    metadata: { name: "v" },
    spec: { accessModes, claimRef, csi },
  } as object);
  world.api.put(refs.persistentvolumeclaims, {
    metadata: { name: "c", namespace: "default", uid: "uid-c" },
    spec: { volumeName: "v" },
    status: { phase: "Bound" },
  } as object);
}

function putUser(world: World, name: string, nodeName: string): void {
  const volumes = [{ name: "d", persistentVolumeClaim: { claimName: "c" } }];
  world.api.put(refs.pods, pod(name, { spec: { containers: [], nodeName, volumes } }));
}

/** What the driver's attacher does. */
function attached(world: World): void {
  for (const one of world.api.peekAll<VolumeAttachment>(ref)) {
    world.api.put<VolumeAttachment>(ref, { ...one, status: { attached: true } });
  }
}

const nodesWith = (world: World): readonly string[] =>
  world.api
    .peekAll<VolumeAttachment>(ref)
    .map(({ spec }) => spec.nodeName)
    .toSorted();
const reported = (world: World, name: string): readonly string[] =>
  (world.api.peek<Node>(refs.nodes, "", name)?.status?.volumesAttached ?? []).map(
    (one) => one.name,
  );

async function started(seed: (world: World) => void): Promise<World> {
  const world = createWorld();
  putNode(world, "n1");
  putNode(world, "n2");
  putVolume(world);
  seed(world);
  await world.start((deps) => new AttachDetachController(deps));
  return world;
}

test("a volume is attached for its pod, reported when it is, and a second run writes nothing", async () => {
  const world = await started((one) => putUser(one, "p", "n1"));
  const digest = createHash("sha256").update(`handle-v${driver}n1`).digest("hex");
  assert.deepEqual(names(world.api, ref), [`csi-${digest}`]);
  assert.deepEqual(reported(world, "n1"), []);
  attached(world);
  await world.rest();
  assert.deepEqual(reported(world, "n1"), [inUse]);
  assert.ok(
    world.events.includes(
      'Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume "v" ',
    ),
  );
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new AttachDetachController(deps));
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a volume in use is detached when the node says that it is unmounted, and not reported before that", async () => {
  const world = await started((one) => putUser(one, "p", "n1"));
  attached(world);
  putNode(
    world,
    "n1",
    {},
    { volumesInUse: [inUse], volumesAttached: [{ name: inUse, devicePath: "" }] },
  );
  await world.rest();
  world.api.drop(refs.pods, "default", "p");
  await world.advance(3_600_000);
  assert.deepEqual(nodesWith(world), ["n1"], "a healthy node keeps what it uses");
  world.forgetCalls();
  putNode(world, "n1", {}, { volumesAttached: [{ name: inUse, devicePath: "" }] });
  await world.rest();
  assert.deepEqual(nodesWith(world), []);
  assert.deepEqual(reported(world, "n1"), []);
  assert.deepEqual(
    world.writes().map((one) => one.split(" ").slice(0, 2).join(" ")),
    ["patch nodes/status", "delete volumeattachments"],
  );
  await world.stop();
});

const lost: readonly (readonly [string, (world: World) => void, number])[] = [
  [
    "is not ready",
    (world) => putNode(world, "n1", {}, { conditions: [], volumesInUse: [inUse] }),
    360_000,
  ],
  ["is gone", (world) => world.api.drop(refs.nodes, "", "n1"), 360_000],
  [
    "is out of service",
    (world) => {
      const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
      putNode(world, "n1", { spec: { taints } }, { conditions: [], volumesInUse: [inUse] });
    },
    0,
  ],
];
for (const [what, lose, afterMs] of lost) {
  test(`a volume of a node that ${what} is taken after ${afterMs / 60_000} minutes`, async () => {
    const world = await started((one) => putUser(one, "p", "n1"));
    attached(world);
    await world.rest();
    lose(world);
    world.api.drop(refs.pods, "default", "p");
    await world.rest();
    if (afterMs > 0) {
      await world.advance(afterMs - 60_000);
      assert.deepEqual(nodesWith(world), ["n1"]);
      await world.advance(150_000);
    }
    assert.deepEqual(nodesWith(world), []);
    await world.stop();
  });
}

test("a volume of one node at a time is not attached to a second, until the first has let it go", async () => {
  const world = await started((one) => putUser(one, "p", "n1"));
  putUser(world, "q", "n2");
  await world.rest();
  assert.deepEqual(nodesWith(world), ["n1"]);
  assert.match(
    world.events.join(),
    /FailedAttachVolume Multi-Attach error for volume "v" Volume is already exclusively attached/,
  );
  world.api.drop(refs.pods, "default", "p");
  await world.rest();
  assert.deepEqual(nodesWith(world), ["n2"]);
  await world.stop();
});

test("a shared volume is on many nodes; a driver without attach and a node that attaches itself get nothing", async () => {
  const world = await started((one) => {
    putVolume(one, ["ReadWriteMany"]);
    putUser(one, "p", "n1");
    putUser(one, "q", "n2");
    one.api.put(refs.nodes, { metadata: { name: "n3" } });
    putUser(one, "r", "n3");
  });
  assert.deepEqual(nodesWith(world), ["n1", "n2"]);
  await world.stop();
  const other = await started((one) => {
    putUser(one, "p", "n1");
    one.api.put(refs.csidrivers, {
      metadata: { name: driver },
      spec: { attachRequired: false },
    } as object);
  });
  assert.deepEqual(nodesWith(other), []);
  await other.stop();
});

test("a VolumeAttachment that someone else made is not deleted", async () => {
  const world = await started((one) => {
    const spec = { attacher: driver, nodeName: "n1", source: { persistentVolumeName: "v" } };
    one.api.put<VolumeAttachment>(ref, { metadata: { name: "by-hand" }, spec });
  });
  await world.advance(3_600_000);
  assert.deepEqual(names(world.api, ref), ["by-hand"]);
  assert.notEqual(attachmentName("handle-v", driver, "n1"), "by-hand");
  await world.stop();
});

test("a volume of an in-tree plugin is attached by the driver that does its work", async () => {
  const world = await started((one) => {
    const claimRef = { namespace: "default", name: "c", uid: "uid-c" };
    const awsElasticBlockStore = { volumeID: "aws://zone/vol-1" };
    one.api.put(refs.persistentvolumes, {
      metadata: { name: "v" },
      spec: { accessModes: ["ReadWriteOnce"], claimRef, awsElasticBlockStore },
    } as object);
    putUser(one, "p", "n1");
  });
  const ebs = "ebs.csi.aws.com";
  const [attachment] = world.api.peekAll<VolumeAttachment>(ref);
  assert.equal(attachment?.metadata?.name, attachmentName("vol-1", ebs, "n1"));
  assert.equal(attachment?.spec.attacher, ebs);
  assert.deepEqual(attachment?.spec.source, { persistentVolumeName: "v" });
  attached(world);
  await world.rest();
  assert.deepEqual(reported(world, "n1"), [`kubernetes.io/csi/${ebs}^vol-1`]);
  await world.stop();
});
