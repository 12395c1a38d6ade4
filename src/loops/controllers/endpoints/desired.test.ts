/** From Services and pods to endpoints, v1 Endpoints and mirrored slices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoints, Node, Pod, Service } from "#api/gen/types.ts";
import { pod, readyStatus } from "../testing/world.ts";
import { planGroups, familiesOf, portsOf, type Desired } from "./desired.ts";
import { labelsFrom } from "./labels.ts";
import { addressesMax, legacyEndpoints } from "./legacy.ts";
import { mirroredMax, mirrorOf, planMirror } from "./mirror.ts";

const now = "2026-01-01T00:00:00Z";

function service(fields: Partial<NonNullable<Service["spec"]>> = {}): Service {
  const ports = [{ port: 80, targetPort: 8080, protocol: "TCP" }];
  return { metadata: { name: "web" }, spec: { ports, clusterIP: "10.1.0.1", ...fields } };
}

function podOn(name: string, fields: Partial<Pod> = {}): Pod {
  return pod(name, {
    spec: { containers: [], nodeName: "n1" },
    status: readyStatus(now),
    ...fields,
  });
}

const zoned: Node = { metadata: { name: "n1", labels: { "topology.kubernetes.io/zone": "z1" } } };

function desired(given: Service, ...pods: readonly Pod[]): Desired {
  const nodeOf = (name: string): Node | undefined => (name === "n1" ? zoned : undefined);
  return planGroups({ service: given, family: "IPv4", pods, nodeOf });
}

function conditionsOf(given: Service, one: Pod): object | undefined {
  return [...(desired(given, one).groups[0]?.endpoints.values() ?? [])][0]?.conditions;
}

const going = { metadata: { deletionTimestamp: now } };
const conditions: readonly (readonly [string, Service, Pod, object | undefined])[] = [
  ["ready", service(), podOn("a"), { ready: true, serving: true, terminating: false }],
  [
    "not ready",
    service(),
    podOn("a", { status: { phase: "Running", podIP: "10.0.0.1" } }),
    { ready: false, serving: false, terminating: false },
  ],
  [
    "on its way out",
    service(),
    podOn("a", going),
    { ready: false, serving: true, terminating: true },
  ],
  [
    "wanted anyway",
    service({ publishNotReadyAddresses: true }),
    podOn("a", { status: { phase: "Pending", podIP: "10.0.0.1" } }),
    { ready: true, serving: false, terminating: false },
  ],
  ["without an address", service(), podOn("a", { status: { phase: "Pending" } }), undefined],
  [
    "finished",
    service(),
    podOn("a", { status: { ...readyStatus(now), phase: "Failed" } }),
    undefined,
  ],
];
for (const [what, given, one, expected] of conditions) {
  test(`a pod ${what}`, () => {
    assert.deepEqual(conditionsOf(given, one), expected);
  });
}

test("an endpoint says pod, node, zone, and its name in a headless Service", () => {
  const spec = { containers: [], nodeName: "n1", hostname: "first", subdomain: "web" };
  const [endpoint] = desired(service(), podOn("a", { spec })).groups[0]?.endpoints.values() ?? [];
  assert.deepEqual(endpoint, {
    addresses: ["10.0.0.1"],
    conditions: { ready: true, serving: true, terminating: false },
    hostname: "first",
    targetRef: { kind: "Pod", namespace: "default", name: "a", uid: "uid-a" },
    nodeName: "n1",
    zone: "z1",
  });
});

test("a pod on a node that is not known waits, unless its address is wanted anyway", () => {
  const lost = podOn("a", { spec: { containers: [], nodeName: "n9" } });
  assert.deepEqual(desired(service(), lost), { groups: [], isIncomplete: true });
  const anyway = desired(service({ publishNotReadyAddresses: true }), lost);
  assert.equal(anyway.groups.length, 1);
  assert.equal(anyway.isIncomplete, false);
});

const hints: readonly (readonly [string, object | undefined])[] = [
  ["", undefined],
  ["PreferClose", { forZones: [{ name: "z1" }] }],
  ["PreferSameZone", { forZones: [{ name: "z1" }] }],
  ["PreferSameNode", { forZones: [{ name: "z1" }], forNodes: [{ name: "n1" }] }],
];
for (const [trafficDistribution, expected] of hints) {
  test(`traffic distribution "${trafficDistribution}"`, () => {
    const given = service(trafficDistribution === "" ? {} : { trafficDistribution });
    const [endpoint] = desired(given, podOn("a")).groups[0]?.endpoints.values() ?? [];
    assert.deepEqual(endpoint?.hints, expected);
  });
}

const families: readonly (readonly [Partial<NonNullable<Service["spec"]>>, readonly string[]])[] = [
  [{ ipFamilies: ["IPv6", "IPv4"] }, ["IPv6", "IPv4"]],
  [{ clusterIP: "10.0.0.1" }, ["IPv4"]],
  [{ clusterIP: "fd00::1" }, ["IPv6"]],
  [{ clusterIP: "None" }, ["IPv4", "IPv6"]],
];
for (const [fields, expected] of families) {
  test(`families of ${JSON.stringify(fields)}`, () => {
    assert.deepEqual(familiesOf(service(fields)), expected);
  });
}

test("each family gets the pod's addresses of that family", () => {
  const podIPs = [{ ip: "10.0.0.1" }, { ip: "fd00::1" }];
  const dual = podOn("a", { status: { ...readyStatus(now), podIPs } });
  const of = (family: "IPv4" | "IPv6"): readonly string[] | undefined => {
    const input = { service: service(), family, pods: [dual], nodeOf: () => zoned };
    return [...(planGroups(input).groups[0]?.endpoints.values() ?? [])][0]?.addresses;
  };
  assert.deepEqual([of("IPv4"), of("IPv6")], [["10.0.0.1"], ["fd00::1"]]);
});

test("named ports are looked up in each pod, sidecars included; pods that differ are apart", () => {
  const given = service({ ports: [{ name: "http", port: 80, targetPort: "web" }] });
  const with1 = (containerPort: number) =>
    podOn(`p${containerPort}`, {
      spec: {
        containers: [{ name: "c", ports: [{ name: "web", containerPort }] }],
        nodeName: "n1",
      },
    });
  const groups = desired(given, with1(8080), with1(9090), podOn("none")).groups;
  assert.deepEqual(
    groups.map((one) => one.ports.map((port) => port.port)),
    [[], [8080], [9090]],
  );
  const sidecar = {
    name: "s",
    restartPolicy: "Always",
    ports: [{ name: "web", containerPort: 1 }],
  };
  const init = podOn("i", { spec: { containers: [], initContainers: [sidecar] } });
  assert.deepEqual(portsOf(given, init)[0]?.port, 1);
});

test("labels are the Service's without the reserved ones; headless is said", () => {
  const labels = { app: "web", "kubernetes.io/service-name": "x" };
  const given = { ...service({ clusterIP: "None" }), metadata: { name: "web", labels } };
  assert.deepEqual(labelsFrom(given), { app: "web", "service.kubernetes.io/headless": "" });
  assert.deepEqual(labelsFrom({ ...given, spec: { clusterIP: "10.0.0.1" } }), { app: "web" });
});

test("v1 Endpoints list ready and not ready addresses by port set, none that are on their way out", () => {
  const unready = podOn("b", { status: { phase: "Running", podIP: "10.0.0.2" } });
  const { groups } = desired(service(), podOn("a"), unready, podOn("c", going));
  const { subsets, truncated } = legacyEndpoints(groups);
  assert.equal(truncated, false);
  assert.deepEqual(
    subsets.map((one) => [one.addresses, one.notReadyAddresses].map((l) => l?.map((a) => a.ip))),
    [[["10.0.0.1"], ["10.0.0.2"]]],
  );
  assert.deepEqual(subsets[0]?.ports, [{ port: 8080, protocol: "TCP" }]);
});

test("v1 Endpoints end at 1000 addresses, ready ones first", () => {
  const many = Array.from({ length: addressesMax + 5 }, (_one, at) => {
    const podIP = `10.0.${at >> 8}.${at & 255}`;
    const status =
      at < 10
        ? { phase: "Running", podIP }
        : { ...readyStatus(now), podIP, podIPs: [{ ip: podIP }] };
    return podOn(`p${at}`, { status });
  });
  const { subsets, truncated } = legacyEndpoints(desired(service(), ...many).groups);
  assert.equal(truncated, true);
  assert.deepEqual(
    [subsets[0]?.addresses?.length, subsets[0]?.notReadyAddresses?.length],
    [995, 5],
  );
});

const custom: Endpoints = {
  metadata: { name: "db" },
  subsets: [
    {
      addresses: [{ ip: "192.0.2.1", hostname: "h" }, { ip: "2001:db8::1" }],
      notReadyAddresses: [{ ip: "192.0.2.2" }],
      ports: [{ port: 5432 }],
    },
  ],
};

test("a mirror has one slice per family and ports", () => {
  const { slices, skipped } = mirrorOf(custom);
  assert.equal(skipped, 0);
  assert.deepEqual(
    slices.map((one) => [one.family, one.endpoints.length]),
    [
      ["IPv4", 2],
      ["IPv6", 1],
    ],
  );
  assert.deepEqual(slices[0]?.endpoints[0], {
    addresses: ["192.0.2.1"],
    conditions: { ready: true },
    hostname: "h",
  });
  assert.equal(slices[0]?.endpoints[1]?.conditions?.ready, false);
});

test("a mirror ends at 1000 addresses of a kind", () => {
  const addresses = Array.from({ length: mirroredMax + 3 }, (_one, at) => ({
    ip: `192.0.${at >> 8}.${at & 255}`,
  }));
  assert.equal(mirrorOf({ subsets: [{ addresses }] }).skipped, 3);
});

test("a mirror reuses the slices there are, and writes none that is right", () => {
  const wanted = mirrorOf(custom).slices;
  const marks = { labels: { a: "b" }, annotations: {} };
  const existing = wanted.map(({ family, ...content }, at) => ({
    metadata: { name: `s${at}`, ...marks },
    addressType: family,
    ...content,
  }));
  assert.deepEqual(planMirror(wanted, existing, marks), { create: [], update: [], remove: [] });
  const moved = wanted.map((one) => ({ ...one, ports: [{ name: "", port: 1, protocol: "TCP" }] }));
  const plan = planMirror(moved, existing, marks);
  assert.deepEqual([plan.create.length, plan.update.length, plan.remove.length], [0, 2, 0]);
  assert.equal(planMirror([], existing, marks).remove.length, 2);
});
