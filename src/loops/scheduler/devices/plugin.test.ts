/** Pods with claims through the whole scheduler: placed, written, waiting, and given back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceClaim } from "#api/gen/types.ts";
import { conflict, internalError } from "#api/status.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "../testing.ts";
import { claim, deviceClass, exactly, gpu, gpus, slice } from "./testing.ts";

const resource = (name: string) => ({ group: "resource.k8s.io", version: "v1", resource: name });
const claimsRef = resource("resourceclaims");
const slicesRef = resource("resourceslices");
const classesRef = resource("deviceclasses");

function claimant(name: string, ...claims: readonly string[]): Pod {
  const resourceClaims = claims.map((one) => ({ name: one, resourceClaimName: one }));
  return makePod(name, { spec: { resourceClaims } });
}

/** Nodes n1 and n2 with a pool each, and a class of all devices. */
function seed(api: FakeApi, perNode = 1): void {
  api.put(classesRef, deviceClass("gpu"));
  for (const name of ["n1", "n2"]) {
    api.put(nodesRef, makeNode(name));
    if (perNode > 0) api.put(slicesRef, slice(name, gpus(perNode)));
  }
}

const stored = (api: FakeApi, name: string) => api.peek<ResourceClaim>(claimsRef, "a", name);

test("a claim is allocated, protected and reserved before its pod is bound", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(claimsRef, claim("c", [exactly("r")]));
    api.put(podsRef, claimant("p", "c"));
  });
  const node = rig.nodeOf("p");
  assert.match(node, /^n[12]$/);
  const { metadata, status } = stored(rig.api, "c") ?? {};
  assert.deepEqual(metadata?.finalizers, ["resource.kubernetes.io/delete-protection"]);
  const [device] = status?.allocation?.devices?.results ?? [];
  assert.deepEqual(device, {
    request: "r",
    driver: "gpu.example.com",
    pool: node,
    device: "gpu-0",
  });
  assert.equal(status?.reservedFor?.[0]?.name, "p");
  const writes = rig.api.calls.filter(({ verb }) => verb !== "list" && verb !== "watch");
  const done = writes.map((one) => `${one.verb} ${one.subresource}`).slice(0, 4);
  const [expected, finalizer, allocation, bind] = done;
  assert.equal(expected, "patch status", "its node is told before its bind waits");
  assert.deepEqual([finalizer, allocation, bind], ["update ", "update status", "create binding"]);
  await rig.end();
});

test("no device is given twice, and who finds none is told so", async () => {
  const rig = await startRig((api) => {
    seed(api);
    for (const name of ["1", "2", "3"]) {
      api.put(claimsRef, claim(`c${name}`, [exactly("r")]));
      api.put(podsRef, claimant(`p${name}`, `c${name}`));
    }
  });
  const placed = ["p1", "p2", "p3"].map((one) => rig.nodeOf(one)).filter((one) => one !== "");
  assert.deepEqual(placed.toSorted(), ["n1", "n2"]);
  const waiting = ["p1", "p2", "p3"].find((one) => rig.nodeOf(one) === "") ?? "";
  assert.equal(
    rig.verdictOn(waiting),
    "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, " +
      "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
  );
  await rig.end();
});

test("a device that is given back goes to the pod that waits for it", async () => {
  const rig = await startRig((api) => {
    api.put(classesRef, deviceClass("gpu"));
    api.put(nodesRef, makeNode("n1"));
    api.put(slicesRef, slice("n1", gpus(1)));
    for (const name of ["c1", "c2"]) api.put(claimsRef, claim(name, [exactly("r")]));
    api.put(podsRef, claimant("p1", "c1"));
  });
  rig.api.put(podsRef, claimant("p2", "c2"));
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("p2"), "");
  const first = stored(rig.api, "c1");
  assert.ok(first !== undefined);
  rig.api.put(claimsRef, { ...first, status: {} });
  await rig.clock.advance(12_000);
  assert.equal(rig.nodeOf("p2"), "n1");
  await rig.end();
});

test("claim, class, slice and the claim of a template: each is waited for in upstream's words", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    api.put(podsRef, claimant("p", "c"));
    const resourceClaims = [{ name: "t", resourceClaimTemplateName: "t" }];
    api.put(podsRef, makePod("templated", { spec: { resourceClaims } }));
  });
  const verdict = (): string => rig.verdictOn("p").replace(/ preemption: .*/, "");
  const head = "0/1 nodes are available: ";
  assert.equal(verdict(), `${head}resourceclaim.resource.k8s.io "c" not found.`);
  assert.equal(rig.verdictOn("templated"), "");
  rig.api.put(claimsRef, claim("c", [exactly("r")]));
  await rig.clock.advance(12_000);
  assert.equal(verdict(), `${head}request r: device class gpu does not exist.`);
  rig.api.put(classesRef, deviceClass("gpu"));
  await rig.clock.advance(12_000);
  assert.match(verdict(), /1 cannot allocate all claims\. still not schedulable,$/);
  rig.api.put(slicesRef, slice("n1", gpus(2)));
  await rig.clock.advance(12_000);
  assert.equal(rig.nodeOf("p"), "n1");
  const templated = rig.api.peek<Pod>(podsRef, "a", "templated");
  const owner = { apiVersion: "v1", kind: "Pod", name: "templated", controller: true };
  const uid = templated?.metadata?.uid ?? "";
  const made = claim("made", [exactly("r")]);
  const metadata = { ...made.metadata, ownerReferences: [{ ...owner, uid }] };
  rig.api.put(claimsRef, { ...made, metadata });
  const resourceClaimStatuses = [{ name: "t", resourceClaimName: "made" }];
  assert.ok(templated !== undefined);
  rig.api.put(podsRef, { ...templated, status: { ...templated.status, resourceClaimStatuses } });
  await rig.clock.advance(12_000);
  assert.equal(rig.nodeOf("templated"), "n1");
  await rig.end();
});

test("pods that share an allocated claim go where its devices are", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(claimsRef, claim("c", [exactly("r")]));
    for (const name of ["p1", "p2", "p3"]) api.put(podsRef, claimant(name, "c"));
  });
  await rig.clock.advance(12_000);
  const nodes = new Set(["p1", "p2", "p3"].map((one) => rig.nodeOf(one)));
  assert.equal(nodes.size, 1);
  assert.ok(!nodes.has(""));
  assert.equal(stored(rig.api, "c")?.status?.reservedFor?.length, 3);
  await rig.end();
});

test("a claim whose node is gone is freed for the pod that alone has it", async () => {
  const rig = await startRig((api) => {
    seed(api);
    const results = [{ request: "r", driver: "gpu.example.com", pool: "gone", device: "gpu-0" }];
    const named = { key: "metadata.name", operator: "In", values: ["gone"] };
    const nodeSelector = { nodeSelectorTerms: [{ matchFields: [named] }] };
    const status = { allocation: { devices: { results }, nodeSelector } };
    api.put(claimsRef, { ...claim("c", [exactly("r")]), status });
    api.put(podsRef, claimant("p", "c"));
  });
  assert.match(
    rig.events("FailedScheduling")[0] ?? "",
    /2 resourceclaim not available on the node\. deallocation of ResourceClaim completed, preemption:/,
  );
  await rig.clock.advance(12_000);
  assert.match(rig.nodeOf("p"), /^n[12]$/);
  await rig.end();
});

test("when the bind fails the reservation goes, and the pod is placed again", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(claimsRef, claim("c", [exactly("r")]));
    api.put(podsRef, claimant("p", "c"));
    api.fail(({ subresource }) => subresource === "binding", internalError("down"));
  });
  await rig.clock.advance(12_000);
  assert.match(rig.nodeOf("p"), /^n[12]$/);
  const removed = rig.api.calls.filter(
    ({ verb, resource: what }) => verb === "patch" && what === "resourceclaims",
  );
  assert.equal(removed.length, 1);
  await rig.end();
});

test("when the allocation cannot be written the devices are free for others at once", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(claimsRef, claim("c", [exactly("r")]));
    api.put(podsRef, claimant("p", "c"));
    const isWrite = ({ verb, subresource }: { verb: string; subresource: string }): boolean =>
      verb === "update" && subresource === "status";
    api.fail(isWrite, internalError("down"));
  });
  assert.match(
    rig.events("FailedScheduling")[0] ?? "",
    /^running PreBind plugin "DynamicResources": add allocation and reservation to claim a\/c: /,
  );
  await rig.clock.advance(12_000);
  assert.match(rig.nodeOf("p"), /^n[12]$/);
  await rig.end();
});

test("a conflict is tried again with the claim as it is now", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(claimsRef, claim("c", [exactly("r")]));
    api.put(podsRef, claimant("p", "c"));
    const isWrite = ({ verb }: { verb: string }): boolean => verb === "update";
    api.fail(isWrite, conflict(claimsRef, "c", "changed"), 2);
  });
  assert.match(rig.nodeOf("p"), /^n[12]$/);
  await rig.end();
});

test("a pod waits for its devices' binding conditions, and is placed anew when they fail", async () => {
  const bindingConditions = ["ready"];
  const bindingFailureConditions = ["broken"];
  const rig = await startRig((api) => {
    api.put(classesRef, deviceClass("gpu"));
    api.put(nodesRef, makeNode("n1"));
    const late = gpu("late", { bindsToNode: true, bindingConditions, bindingFailureConditions });
    api.put(slicesRef, slice("n1", [late]));
    api.put(claimsRef, claim("c", [exactly("r")]));
    api.put(podsRef, claimant("p", "c"));
  });
  await rig.clock.advance(20_000);
  assert.equal(rig.nodeOf("p"), "");
  const now = stored(rig.api, "c");
  assert.ok(now !== undefined);
  assert.ok(now.status?.allocation?.allocationTimestamp !== undefined);
  const conditions = [
    {
      type: "ready",
      status: "True",
      reason: "Up",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  const devices = [{ driver: "gpu.example.com", pool: "n1", device: "late", conditions }];
  rig.api.put(claimsRef, { ...now, status: { ...now.status, devices } });
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("p"), "n1");
  await rig.end();
});
