/**
 * Global services by the words of SIG Multicluster's conformance suite (mcs-api, conformance/): what a ServiceImport is, who wins
 * a conflict, which conditions say so, and when it goes. Then what regions that fail do to it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { findCondition, type Condition } from "#client/conditions.ts";
import { labels, mcsLabels, mcsRefs, refs } from "../names.ts";
import { cut, heal, RegionsWorld, type FakeRegion } from "../testing/world.ts";

const gathered = 1_000;

async function twoRegions(...more: readonly string[]): Promise<RegionsWorld> {
  const world = new RegionsWorld();
  for (const name of ["eu", "us", ...more]) world.join(name, { hasServices: true });
  await world.start();
  return world;
}

function regionOf(world: RegionsWorld, name: string): FakeRegion {
  return world.regions.get(name) ?? assert.fail();
}

interface Shown {
  readonly spec?: object;
  readonly created?: string;
  readonly exported?: object;
  /** Address and zone. */
  readonly endpoints?: readonly (readonly [string, string])[];
  readonly isReady?: boolean;
}

const http = { name: "http", port: 80, protocol: "TCP" };

/** A Service, its slice and its export. */
function show(
  { api, name }: FakeRegion,
  { spec = {}, created = "2026-01-01T00:00:00Z", exported = {}, endpoints, isReady = true }: Shown,
): void {
  const metadata = { name: "web", namespace: "default", labels: { own: "yes" } };
  api.put<AnyObject>(refs.services, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, uid: "web" },
    spec: { ports: [http], clusterIP: "10.0.0.1", selector: { app: "web" }, ...spec },
  });
  const addresses = endpoints ?? [[name === "eu" ? "10.1.0.1" : "10.2.0.1", `${name}-1`] as const];
  api.put<AnyObject>(refs.endpointSlices, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: "web-abc",
      namespace: "default",
      uid: "web-abc",
      labels: { "kubernetes.io/service-name": "web" },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: addresses.map(([address, zone]) => ({
      addresses: [address],
      zone,
      nodeName: "node-1",
      targetRef: { kind: "Pod", name: "web-1", namespace: "default" },
      conditions: { ready: isReady },
    })),
  });
  api.put<AnyObject>(mcsRefs.exports, {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ServiceExport",
    metadata: { name: "web", namespace: "default", uid: "export", creationTimestamp: created },
    spec: exported,
  });
}

function importIn({ api }: FakeRegion): AnyObject | undefined {
  return api.peek<AnyObject>(mcsRefs.imports, "default", "web");
}

function fieldsOf(object: AnyObject | undefined, field: string): Readonly<Record<string, unknown>> {
  return (object?.[field] ?? {}) as Readonly<Record<string, unknown>>;
}

/** `eu 10.1.0.1` of each endpoint imported there, sorted. */
function endpointsIn({ api }: FakeRegion): readonly string[] {
  return api
    .peekAll<AnyObject>(refs.endpointSlices)
    .filter(({ metadata }) => metadata?.labels?.[mcsLabels.service] === "web")
    .flatMap(({ metadata, ...slice }) =>
      ((slice["endpoints"] ?? []) as readonly { readonly addresses: readonly string[] }[]).map(
        ({ addresses }) => `${metadata?.labels?.[mcsLabels.cluster]} ${addresses[0]}`,
      ),
    )
    .toSorted();
}

function conditionIn(region: FakeRegion, type: string): Condition | undefined {
  const object = region.api.peek<AnyObject>(mcsRefs.exports, "default", "web");
  return findCondition(fieldsOf(object, "status")["conditions"] as readonly Condition[], type);
}

function said(region: FakeRegion, type: string): string {
  const { status, reason } = conditionIn(region, type) ?? {};
  return `${String(status)} ${String(reason)}`;
}

test("an export makes a ServiceImport of type ClusterSetIP with an address in every region; without it, it goes", async () => {
  const world = await twoRegions("ap");
  const eu = regionOf(world, "eu");
  show(eu, { spec: { sessionAffinity: "ClientIP", trafficDistribution: "PreferClose" } });
  await world.advance(gathered, 100);
  for (const region of world.regions.values()) {
    const spec = fieldsOf(importIn(region), "spec");
    assert.deepEqual(
      [spec["type"], spec["ports"], spec["ips"], spec["ipFamilies"]],
      ["ClusterSetIP", [http], ["10.96.0.9"], ["IPv4"]],
    );
    assert.deepEqual(
      [spec["sessionAffinity"], spec["trafficDistribution"]],
      ["ClientIP", "PreferClose"],
    );
    const status = fieldsOf(importIn(region), "status");
    assert.deepEqual(status["clusters"], [{ cluster: "eu" }]);
    assert.equal(
      findCondition(status["conditions"] as readonly Condition[], "Ready")?.status,
      "True",
    );
    assert.deepEqual(endpointsIn(region), ["eu 10.1.0.1"]);
  }
  assert.deepEqual(
    [said(eu, "Valid"), said(eu, "Ready"), said(eu, "Conflict")],
    ["True Valid", "True Exported", "False NoConflicts"],
  );
  world.forgetCalls();
  await world.advance(120_000);
  assert.deepEqual(world.writes(), [], "at rest nothing is written");
  eu.api.drop(mcsRefs.exports, "default", "web");
  await world.advance(gathered, 100);
  for (const region of world.regions.values()) {
    assert.equal(importIn(region), undefined);
    assert.deepEqual(endpointsIn(region), []);
    const derived = region.api.peekAll<AnyObject>(refs.services).map((one) => one.metadata?.name);
    assert.deepEqual(derived, region === eu ? ["web"] : []);
  }
  await world.close();
});

test("an import stays while one region exports, and its slices are those of the regions that do", async () => {
  const world = await twoRegions();
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  show(eu, {});
  show(us, {});
  await world.advance(gathered, 100);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1", "us 10.2.0.1"]);
  eu.api.drop(mcsRefs.exports, "default", "web");
  await world.advance(gathered, 100);
  assert.deepEqual(endpointsIn(eu), ["us 10.2.0.1"]);
  assert.deepEqual(fieldsOf(importIn(eu), "status")["clusters"], [{ cluster: "us" }]);
  us.api.drop(mcsRefs.exports, "default", "web");
  await world.advance(gathered, 100);
  assert.equal(importIn(eu), undefined);
  await world.close();
});

test("slices have the standard's labels and localities, and no names of another region's pods and nodes", async () => {
  const world = await twoRegions();
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  show(eu, {});
  show(us, {});
  await world.advance(gathered, 100);
  const slices = eu.api
    .peekAll<AnyObject>(refs.endpointSlices)
    .filter(({ metadata }) => metadata?.labels?.[mcsLabels.service] !== undefined);
  const of = (cluster: string): AnyObject =>
    slices.find(({ metadata }) => metadata?.labels?.[mcsLabels.cluster] === cluster) ??
    assert.fail();
  assert.equal(of("eu").metadata?.labels?.[labels.local], "true");
  assert.equal(of("us").metadata?.labels?.[labels.local], undefined);
  const managers = slices.map(
    ({ metadata }) => metadata?.labels?.["endpointslice.kubernetes.io/managed-by"],
  );
  assert.deepEqual(managers, ["pilothouse-coordinator", "pilothouse-coordinator"]);
  assert.deepEqual(of("us")["endpoints"], [
    {
      addresses: ["10.2.0.1"],
      conditions: { ready: true },
      zone: "us-1",
      hints: { forZones: [{ name: "us" }] },
    },
  ]);
  const [own] = of("eu")["endpoints"] as readonly AnyObject[];
  assert.deepEqual(
    [own?.["nodeName"], own?.["hints"]],
    ["node-1", { forZones: [{ name: "eu-1" }] }],
  );
  await world.close();
});

test("a headless Service makes a Headless import without an address; ExternalName and no Service are not valid", async () => {
  const world = await twoRegions();
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  show(eu, { spec: { clusterIP: "None" } });
  await world.advance(gathered, 100);
  const spec = fieldsOf(importIn(us), "spec");
  assert.deepEqual([spec["type"], spec["ips"]], ["Headless", undefined]);
  assert.deepEqual(us.api.peekAll(refs.services), []);
  show(eu, { spec: { type: "ExternalName", externalName: "example.com" } });
  await world.advance(gathered, 100);
  assert.equal(importIn(us), undefined);
  assert.equal(said(eu, "Valid"), "False InvalidServiceType");
  eu.api.drop(refs.services, "default", "web");
  await world.advance(gathered, 100);
  assert.equal(said(eu, "Valid"), "False NoService");
  assert.equal(conditionIn(eu, "Conflict"), undefined);
  await world.close();
});

test("the oldest export counts in a conflict, ports are the union, and every export is told", async () => {
  const world = await twoRegions();
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  const sctp = { name: "stcp", port: 142, protocol: "SCTP" };
  const marks = (value: string): object => ({
    exportedLabels: { "dummy-label": value },
    exportedAnnotations: { "dummy-note": value },
  });
  show(eu, {
    created: "2026-01-01T00:00:05Z",
    exported: marks("eu"),
    spec: { ports: [http, sctp] },
  });
  show(us, {
    created: "2026-01-01T00:00:01Z",
    exported: marks("us"),
    spec: { clusterIP: "None", ports: [http] },
  });
  await world.advance(gathered, 100);
  for (const region of [eu, us]) {
    const found = importIn(region);
    assert.equal(found?.metadata?.labels?.["dummy-label"], "us");
    assert.equal(found?.metadata?.labels?.["own"], undefined, "only what the export names");
    assert.equal(found?.metadata?.annotations?.["dummy-note"], "us");
    assert.deepEqual(
      [fieldsOf(found, "spec")["type"], fieldsOf(found, "spec")["ports"]],
      ["Headless", [http, sctp]],
    );
    const reasons = "TypeConflict,PortConflict,LabelsConflict,AnnotationsConflict";
    assert.equal(said(region, "Conflict"), `True ${reasons}`);
    assert.match(conditionIn(region, "Conflict")?.message ?? "", /type differ in 1 of 2 .* us/);
  }
  // Of one name, another number: the oldest's, and nothing is sent to the other for it.
  show(eu, { created: "2026-01-01T00:00:05Z", spec: { ports: [{ ...http, port: 81 }] } });
  show(us, { created: "2026-01-01T00:00:01Z", spec: { ports: [http] } });
  await world.advance(gathered, 100);
  assert.deepEqual(fieldsOf(importIn(eu), "spec")["ports"], [http]);
  const [foreign] = us.api
    .peekAll<AnyObject>(refs.endpointSlices)
    .filter(({ metadata }) => metadata?.labels?.[mcsLabels.cluster] === "eu");
  assert.deepEqual(foreign?.["ports"], []);
  show(eu, { created: "2026-01-01T00:00:05Z" });
  await world.advance(gathered, 100);
  assert.deepEqual(
    [said(eu, "Conflict"), said(us, "Conflict")],
    Array(2).fill("False NoConflicts"),
  );
  await world.close();
});

test("a region that does not answer is sent nothing while others have ready endpoints, and gets them back", async () => {
  const world = await twoRegions("ap");
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  show(eu, {});
  show(us, {});
  await world.advance(gathered, 100);
  cut(us);
  await world.advance(30_000);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1", "us 10.2.0.1"], "Unknown comes after 40 s");
  await world.advance(20_000);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1"]);
  assert.deepEqual(endpointsIn(us), ["eu 10.1.0.1", "us 10.2.0.1"], "its own are as they were");
  // Nothing else is there: perhaps only the coordinator is cut off from it.
  show(eu, { isReady: false });
  await world.advance(gathered, 100);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1", "us 10.2.0.1"]);
  show(eu, {});
  heal(us);
  await world.advance(20_000);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1", "us 10.2.0.1"]);
  await world.close();
});

test("a coordinator that starts while a region is silent takes nothing away that was imported from it", async () => {
  const world = await twoRegions("ap");
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  show(us, {});
  await world.advance(gathered, 100);
  await world.stop();
  cut(us);
  await world.start();
  await world.advance(120_000);
  assert.deepEqual(endpointsIn(eu), ["us 10.2.0.1"]);
  assert.deepEqual(fieldsOf(importIn(eu), "status")["clusters"], [{ cluster: "us" }]);
  // Another begins to export: it is added.
  show(eu, {});
  await world.advance(gathered, 100);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1", "us 10.2.0.1"]);
  assert.deepEqual(fieldsOf(importIn(eu), "status")["clusters"], [
    { cluster: "eu" },
    { cluster: "us" },
  ]);
  heal(us);
  us.api.drop(mcsRefs.exports, "default", "web");
  // Its lists are tried again after 30 s and jitter.
  await world.advance(120_000);
  assert.deepEqual(endpointsIn(eu), ["eu 10.1.0.1"]);
  await world.close();
});

test("a region that leaves is imported nowhere any more, and keeps what it has", async () => {
  const world = await twoRegions();
  const [eu, us] = [regionOf(world, "eu"), regionOf(world, "us")];
  show(us, {});
  await world.advance(gathered, 100);
  world.leave("us");
  await world.advance(10_000);
  assert.equal(importIn(eu), undefined);
  assert.notEqual(importIn(us), undefined);
  await world.close();
});
