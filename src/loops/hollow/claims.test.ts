/** Pods with resource claims on hollow nodes: held until their devices are prepared, and what that shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceClaim, ResourceSlice } from "#api/gen/types.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import type { HollowDevices } from "./devices.ts";
import { bound, conditionOf, hollowGpus, podsRef, startRig } from "./testing.ts";

const resource = (name: string) => ({ group: "resource.k8s.io", version: "v1", resource: name });
const claimsRef = resource("resourceclaims");
const slicesRef = resource("resourceslices");

function claimOf(uid: string): ResourceClaim {
  const result = { request: "r", driver: "gpu.example.com", pool: "hollow-0", device: "gpu-0" };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "c", namespace: "a", uid: "claim-uid" },
    spec: { devices: {} },
    status: {
      allocation: { devices: { results: [result] } },
      reservedFor: [{ resource: "pods", name: "p", uid }],
    },
  };
}

const claimant = bound("p", { spec: { resourceClaims: [{ name: "g", resourceClaimName: "c" }] } });

async function rigWith(devices: Partial<HollowDevices> = {}) {
  const rig = await startRig({ count: 1, devices: { ...hollowGpus, ...devices } });
  rig.api.put(podsRef, claimant);
  return rig;
}

function reserve(api: FakeApi, uid = ""): void {
  api.put(claimsRef, claimOf(uid));
}

test("a pod whose claim is not its own is held, and told so as by a kubelet", async () => {
  const rig = await rigWith();
  const uid = rig.pod("p")?.metadata?.uid ?? "";
  reserve(rig.api, "of another");
  await rig.clock.advance(3_000);
  const pod = rig.pod("p");
  assert.equal(pod?.status?.phase, "Pending");
  assert.equal(pod?.status?.podIP, undefined);
  assert.equal(conditionOf(pod, "PodReadyToStartContainers"), "False");
  const [container] = pod?.status?.containerStatuses ?? [];
  assert.equal(container?.state?.waiting?.reason, "ContainerCreating");
  assert.equal(
    rig.events().at(-1),
    "FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources: " +
      `pod p (${uid}) is not allowed to use ResourceClaim c (claim-uid)`,
  );
  reserve(rig.api, uid);
  await rig.clock.advance(3_000);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  await rig.end();
});

test("preparing takes its time", async () => {
  const rig = await rigWith({ prepareMs: 5_000 });
  reserve(rig.api, rig.pod("p")?.metadata?.uid);
  await rig.clock.advance(4_000);
  assert.equal(rig.pod("p")?.status?.phase, "Pending");
  await rig.clock.advance(5_000);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  await rig.end();
});

test("a driver that fails holds the pod, which can be deleted", async () => {
  const rig = await rigWith({ prepareError: "no such device" });
  reserve(rig.api, rig.pod("p")?.metadata?.uid);
  await rig.clock.advance(10_000);
  assert.match(
    rig.events().at(-1) ?? "",
    /NodePrepareResources failed for ResourceClaim c: no such device$/,
  );
  assert.equal(rig.pod("p")?.status?.phase, "Pending");
  await rig.api.delete(podsRef, "a", "p", {});
  await rig.clock.advance(31_000);
  assert.equal(rig.pod("p"), undefined);
  await rig.end();
});

test("a pod that runs is not held when the next process finds its claim gone", async () => {
  const rig = await rigWith();
  reserve(rig.api, rig.pod("p")?.metadata?.uid);
  await rig.clock.advance(3_000);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  await rig.end();
  rig.api.drop(claimsRef, "a", "c");
  const second = rig.start();
  await rig.clock.advance(5_000);
  assert.deepEqual(rig.events(), []);
  assert.equal(rig.pod("p")?.status?.phase, "Running");
  await second.end();
});

test("slices are left as they are by the next process, and replaced when the file says otherwise", async () => {
  const rig = await startRig({ count: 1, devices: hollowGpus });
  await rig.clock.advance(1_000);
  const slices = () => rig.api.peekAll<ResourceSlice>(slicesRef);
  const generations = () => slices().map(({ spec }) => spec.pool.generation);
  assert.deepEqual(generations(), [1]);
  await rig.end();
  const again = await startRig({ count: 1, devices: hollowGpus }, (api) =>
    slices().forEach((slice) => api.put(slicesRef, slice)),
  );
  await again.clock.advance(1_000);
  assert.equal(again.api.peekAll<ResourceSlice>(slicesRef)[0]?.spec.pool.generation, 1);
  await again.end();
  const partitions = [{ name: "half", count: 2 }];
  const other = await startRig({ count: 1, devices: { ...hollowGpus, partitions } }, (api) =>
    slices().forEach((slice) => api.put(slicesRef, slice)),
  );
  await other.clock.advance(1_000);
  const found = other.api.peekAll<ResourceSlice>(slicesRef);
  assert.deepEqual(
    found.map(({ spec }) => [spec.pool.generation, spec.pool.resourceSliceCount]),
    [
      [2, 2],
      [2, 2],
    ],
  );
  await other.end();
});
