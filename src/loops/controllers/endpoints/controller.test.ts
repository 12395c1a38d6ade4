/** Slices, Endpoints and mirrors over the API in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoints, EndpointSlice, Service } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, pod, readyStatus, type World } from "../testing/world.ts";
import { EndpointSliceController } from "./controller.ts";
import { EndpointSliceMirroringController } from "./mirroring.ts";

function service(fields: Partial<NonNullable<Service["spec"]>> = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default", labels: { team: "a" } },
    spec: {
      selector: { app: "web" },
      clusterIP: "10.1.0.1",
      ipFamilies: ["IPv4"],
      ports: [{ port: 80 }],
      ...fields,
    },
  };
}

function addPod(world: World, name: string, ip: string): void {
  const status = { ...readyStatus(world.now()), podIP: ip, podIPs: [{ ip }] };
  const spec = { containers: [], nodeName: "n1" };
  world.api.put(refs.pods, pod(name, { spec, status, metadata: { labels: { app: "web" } } }));
}

function addNode(world: World): void {
  world.api.put(refs.nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
}

const slices = (world: World): readonly EndpointSlice[] => world.api.peekAll(refs.endpointslices);

function addresses(world: World): readonly string[] {
  return slices(world)
    .flatMap((slice) => (slice.endpoints ?? []).flatMap((one) => one.addresses))
    .toSorted();
}

test("a Service has slices and Endpoints of its pods; they follow; a second run writes nothing", async () => {
  const world = createWorld();
  addNode(world);
  world.api.put(refs.services, service());
  await world.start((deps) => new EndpointSliceController(deps));
  assert.deepEqual(
    slices(world).map((one) => one.endpoints),
    [[]],
  );
  addPod(world, "a", "10.0.0.1");
  addPod(world, "b", "10.0.0.2");
  await world.rest();
  assert.deepEqual(addresses(world), ["10.0.0.1", "10.0.0.2"]);
  assert.equal(slices(world).length, 1);
  assert.equal(slices(world)[0]?.metadata?.labels?.["team"], "a");
  const legacy = world.api.peek<Endpoints>(refs.endpoints, "default", "web");
  assert.deepEqual(
    legacy?.subsets?.[0]?.addresses?.map((one) => one.ip),
    ["10.0.0.1", "10.0.0.2"],
  );
  world.api.drop(refs.pods, "default", "a");
  await world.rest();
  assert.deepEqual(addresses(world), ["10.0.0.2"]);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new EndpointSliceController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a Service's new labels reach its slices, and what was of an earlier Service goes", async () => {
  const world = createWorld();
  addNode(world);
  addPod(world, "a", "10.0.0.1");
  const made = world.api.put(refs.services, service());
  const metadata = {
    name: "earlier",
    namespace: "default",
    labels: {
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    },
    ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "web", uid: "earlier" }],
  };
  world.api.put(refs.endpointslices, {
    metadata,
    addressType: "IPv4",
    endpoints: [],
  } as EndpointSlice);
  await world.start((deps) => new EndpointSliceController(deps));
  assert.deepEqual(addresses(world), ["10.0.0.1"]);
  assert.equal(slices(world).length, 1);
  world.api.put(refs.services, { ...made, metadata: { ...made.metadata, labels: { team: "b" } } });
  await world.rest();
  assert.equal(slices(world)[0]?.metadata?.labels?.["team"], "b");
  await world.stop();
});

test("a pod on an unknown node is left out until the node is there", async () => {
  const world = createWorld();
  addPod(world, "a", "10.0.0.1");
  world.api.put(refs.services, service());
  await world.start((deps) => new EndpointSliceController(deps));
  assert.deepEqual(addresses(world), []);
  addNode(world);
  await world.advance(2_000);
  assert.deepEqual(addresses(world), ["10.0.0.1"]);
  await world.stop();
});

test("the Endpoints of a Service that goes go with it, also when nobody was looking", async () => {
  const world = createWorld();
  addNode(world);
  world.api.put(refs.services, service());
  await world.start((deps) => new EndpointSliceController(deps));
  world.api.drop(refs.services, "default", "web");
  await world.rest();
  assert.deepEqual(names(world.api, refs.endpoints), []);
  await world.stop();
  const labels = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };
  world.api.put(refs.endpoints, { metadata: { name: "left", namespace: "default", labels } });
  world.api.put(refs.endpoints, { metadata: { name: "mine", namespace: "default" } });
  await world.start((deps) => new EndpointSliceController(deps));
  assert.deepEqual(names(world.api, refs.endpoints), ["mine"]);
  await world.stop();
});

test("Services without a selector, and external names, are left to others", async () => {
  const world = createWorld();
  const { selector: _selector, ...spec } = service().spec ?? {};
  world.api.put(refs.services, { ...service(), spec });
  const other = {
    ...service({ type: "ExternalName", externalName: "a.b" }),
    metadata: { name: "ext", namespace: "default" },
  };
  world.api.put(refs.services, other);
  await world.start((deps) => new EndpointSliceController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

function custom(fields: object = {}): Endpoints {
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "db", namespace: "default", labels: { team: "a" }, ...fields },
    subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 5432, protocol: "TCP" }] }],
  };
}

function database(): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "db", namespace: "default" },
    spec: { ports: [{ port: 5432 }] },
  };
}

test("hand-made Endpoints are mirrored, follow, and a second run writes nothing", async () => {
  const world = createWorld();
  world.api.put(refs.services, database());
  const made = world.api.put(refs.endpoints, custom());
  await world.start((deps) => new EndpointSliceMirroringController(deps));
  const [slice] = slices(world);
  assert.equal(slice?.metadata?.labels?.["kubernetes.io/service-name"], "db");
  assert.equal(slice?.metadata?.labels?.["team"], "a");
  assert.equal(slice?.metadata?.ownerReferences?.[0]?.kind, "Endpoints");
  assert.deepEqual(addresses(world), ["192.0.2.1"]);
  world.api.put(refs.endpoints, { ...made, subsets: [{ addresses: [{ ip: "192.0.2.2" }] }] });
  await world.rest();
  assert.deepEqual(addresses(world), ["192.0.2.2"]);
  assert.equal(slices(world).length, 1);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new EndpointSliceMirroringController(deps));
  assert.deepEqual(world.writes(), []);
  world.api.put(refs.services, { ...database(), spec: { selector: { app: "x" } } });
  await world.rest();
  assert.deepEqual(slices(world), []);
  await world.stop();
});

test("Endpoints that ask not to be mirrored, locks, and those without a Service are not", async () => {
  const world = createWorld();
  const labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  world.api.put(refs.services, database());
  world.api.put(refs.endpoints, custom({ labels }));
  world.api.put(refs.endpoints, custom({ name: "nobody" }));
  await world.start((deps) => new EndpointSliceMirroringController(deps));
  assert.deepEqual(world.writes(), []);
  const annotations = { "control-plane.alpha.kubernetes.io/leader": "{}" };
  world.api.put(refs.endpoints, custom({ annotations }));
  await world.rest();
  assert.deepEqual(world.writes(), []);
  await world.stop();
});
