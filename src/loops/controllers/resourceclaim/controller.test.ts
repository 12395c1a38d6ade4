/** Resource claims: made from templates, reserved, given back and deleted with their Pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceClaim, ResourceClaimTemplate } from "#api/gen/types.ts";
import { internalError } from "#api/status.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { ResourceClaimController } from "./controller.ts";
import { generatedClaim } from "./pod-claims.ts";

const finalizer = "resource.kubernetes.io/delete-protection";
const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu" } }];
const start = (world: World) => world.start((deps) => new ResourceClaimController(deps));

const template: ResourceClaimTemplate = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaimTemplate",
  metadata: { name: "one-gpu", namespace: "default" },
  spec: { metadata: { labels: { team: "x" } }, spec: { devices: { requests } } },
};

function claimant(name: string, fields: Partial<Pod> = {}): Pod {
  const resourceClaims = [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }];
  const spec = { containers: [], resourceClaims, ...fields.spec };
  return pod(name, { status: { phase: "Pending" }, ...fields, spec });
}

function sharedClaim(name: string, fields: Partial<ResourceClaim> = {}): ResourceClaim {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    spec: { devices: { requests } },
    ...fields,
    metadata: { name, namespace: "default", uid: `uid-${name}`, ...fields.metadata },
  };
}

const allocation = {
  devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n", device: "0" }] },
};
const reservedBy = (name: string) => ({ resource: "pods", name, uid: `uid-${name}` });
const user = (name: string, fields: Partial<Pod> = {}) =>
  claimant(name, {
    ...fields,
    spec: {
      containers: [],
      nodeName: "n",
      resourceClaims: [{ name: "gpu", resourceClaimName: "shared" }],
      ...fields.spec,
    },
  });

const claims = (world: World) => world.api.peekAll<ResourceClaim>(refs.resourceclaims);
const claim = (world: World, name: string) =>
  world.api.peek<ResourceClaim>(refs.resourceclaims, "default", name);

test("a claim is made from the template, owned by its pod and named in its status, once", async () => {
  const world = createWorld();
  world.api.put(refs.resourceclaimtemplates, template);
  world.api.put(refs.pods, claimant("p"));
  await start(world);
  const [made] = claims(world);
  assert.match(made?.metadata?.name ?? "", /^p-gpu-.{5}$/);
  assert.deepEqual(made?.metadata?.annotations, { "resource.kubernetes.io/pod-claim-name": "gpu" });
  assert.deepEqual(made?.metadata?.labels, { team: "x" });
  assert.deepEqual(made?.metadata?.ownerReferences, [
    { apiVersion: "v1", kind: "Pod", name: "p", uid: "uid-p", controller: true },
  ]);
  assert.deepEqual(made?.spec, template.spec.spec);
  const status = world.api.peek<Pod>(refs.pods, "default", "p")?.status;
  const resourceClaimName = made?.metadata?.name;
  assert.deepEqual(status?.resourceClaimStatuses, [{ name: "gpu", resourceClaimName }]);
  await world.stop();
  world.forgetCalls();
  await start(world);
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a status that was not written is written later, without a second claim", async () => {
  const world = createWorld();
  world.api.put(refs.resourceclaimtemplates, template);
  world.api.put(refs.pods, claimant("p"));
  const isStatus = ({ verb }: { verb: string }): boolean => verb === "patch";
  world.api.fail(isStatus, internalError("down"), 2);
  await start(world);
  await world.advance(60_000);
  assert.equal(claims(world).length, 1);
  const status = world.api.peek<Pod>(refs.pods, "default", "p")?.status;
  assert.equal(status?.resourceClaimStatuses?.length, 1);
  await world.stop();
});

test("a missing template is told in an event, and made up for when it comes", async () => {
  const world = createWorld();
  world.api.put(refs.pods, claimant("p"));
  await start(world);
  assert.equal(
    world.events[0],
    'Warning FailedResourceClaimCreation PodResourceClaim gpu: resource claim template "one-gpu": ' +
      'resourceclaimtemplate.resource.k8s.io "one-gpu" not found',
  );
  world.api.put(refs.resourceclaimtemplates, template);
  await world.rest();
  assert.equal(claims(world).length, 1);
  await world.stop();
});

test("a claim that another owner has is not used: a new one is made", async () => {
  const world = createWorld();
  world.api.put(refs.resourceclaimtemplates, template);
  world.api.put(refs.resourceclaims, sharedClaim("theirs"));
  const resourceClaimStatuses = [{ name: "gpu", resourceClaimName: "theirs" }];
  world.api.put(refs.pods, claimant("p", { status: { phase: "Pending", resourceClaimStatuses } }));
  await start(world);
  assert.deepEqual(world.writes(), [
    "create resourceclaims default/p-gpu-*",
    "patch pods/status default/p",
  ]);
  await world.stop();
});

test("reservations of pods that are done or gone go, those of others stay", async () => {
  const world = createWorld();
  const reservedFor = ["runs", "done", "gone"].map(reservedBy);
  const other = { apiGroup: "example.com", resource: "jobs", name: "j", uid: "j" };
  const status = { allocation, reservedFor: [...reservedFor, other] };
  const metadata = { finalizers: [finalizer] };
  world.api.put(refs.resourceclaims, sharedClaim("shared", { metadata, status }));
  world.api.put(refs.pods, user("runs", { status: { phase: "Running" } }));
  world.api.put(refs.pods, user("done", { status: { phase: "Succeeded" } }));
  await start(world);
  assert.deepEqual(claim(world, "shared")?.status, {
    allocation,
    reservedFor: [reservedBy("runs"), other],
  });
  await world.stop();
});

test("the last user's end frees the devices and takes the finalizer away", async () => {
  const world = createWorld();
  const status = { allocation, reservedFor: [reservedBy("p")] };
  const metadata = { finalizers: [finalizer, "other"] };
  world.api.put(refs.resourceclaims, sharedClaim("shared", { metadata, status }));
  world.api.put(refs.pods, user("p", { status: { phase: "Running" } }));
  await start(world);
  assert.deepEqual(world.writes(), []);
  world.setPod("p", { phase: "Failed" });
  await world.rest();
  assert.deepEqual(claim(world, "shared")?.status, {});
  assert.deepEqual(claim(world, "shared")?.metadata?.finalizers, ["other"]);
  await world.stop();
});

test("a pod that the cache does not show yet keeps its reservation", async () => {
  const world = createWorld();
  const status = { allocation, reservedFor: [reservedBy("late")] };
  world.api.put(
    refs.resourceclaims,
    sharedClaim("shared", { metadata: { finalizers: [finalizer] }, status }),
  );
  const get = world.api.get.bind(world.api);
  const late = { ...world.api, get: async () => user("late") } as unknown as typeof world.api;
  assert.ok(get);
  await world.start((deps) => new ResourceClaimController({ ...deps, client: late }));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a claim that is deleted without users is freed, so that it can go", async () => {
  const world = createWorld();
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const metadata = { finalizers: [finalizer], deletionTimestamp };
  world.api.put(refs.resourceclaims, sharedClaim("shared", { metadata, status: { allocation } }));
  await start(world);
  assert.deepEqual(world.writes(), [
    "update resourceclaims/status default/shared",
    "update resourceclaims default/shared",
  ]);
  await world.stop();
});

test("a generated claim goes when its pod is done", async () => {
  const world = createWorld();
  world.api.put(refs.resourceclaimtemplates, template);
  world.api.put(refs.pods, claimant("p"));
  await start(world);
  assert.equal(claims(world).length, 1);
  world.setPod("p", { phase: "Succeeded" }, "n");
  await world.rest();
  assert.equal(claims(world).length, 0);
  await world.stop();
});

test("the claim of a pod's extended resources goes with it too", async () => {
  const world = createWorld();
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "uid-p", controller: true };
  const metadata = { ownerReferences: [owner], finalizers: [finalizer] };
  const status = { allocation, reservedFor: [reservedBy("p")] };
  world.api.put(refs.resourceclaims, sharedClaim("p-extended", { metadata, status }));
  const extendedResourceClaimStatus = { resourceClaimName: "p-extended", requestMappings: [] };
  const running = { phase: "Running", extendedResourceClaimStatus };
  world.api.put(refs.pods, pod("p", { spec: { containers: [], nodeName: "n" }, status: running }));
  await start(world);
  assert.deepEqual(world.writes(), []);
  world.setPod("p", { phase: "Succeeded" });
  await world.rest();
  assert.equal(claim(world, "p-extended"), undefined);
  await world.stop();
});

test("a pod bound past the scheduler gets its allocated claim reserved", async () => {
  const world = createWorld();
  world.api.put(refs.resourceclaims, sharedClaim("shared", { status: { allocation } }));
  world.api.put(refs.pods, user("p"));
  await start(world);
  assert.deepEqual(claim(world, "shared")?.status?.reservedFor, [reservedBy("p")]);
  await world.stop();
});

test("a refused write is tried again", async () => {
  const world = createWorld();
  const status = { allocation, reservedFor: [reservedBy("gone")] };
  const metadata = { finalizers: [finalizer] };
  world.api.put(refs.resourceclaims, sharedClaim("shared", { metadata, status }));
  world.api.fail(({ verb }) => verb === "update", internalError("down"), 3);
  await start(world);
  await world.advance(60_000);
  assert.deepEqual(claim(world, "shared")?.status, {});
  await world.stop();
});

test("long names of pod and entry give up letters in proportion", () => {
  const long = pod("p".repeat(60));
  const made = generatedClaim(long, "c".repeat(30), template);
  assert.equal(made.metadata?.generateName, `${"p".repeat(37)}-${"c".repeat(18)}`);
});
