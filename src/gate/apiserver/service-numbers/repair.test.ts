/** Reservations and Services that do not fit together are made to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, Service } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { resourceByPath } from "#api/schema/resources.ts";
import { must } from "#base/assert.ts";
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createLister } from "#registry/lister.ts";
import { RangeAllocation } from "#registry/range-allocation.ts";
import { openPlane } from "../testing/plane.ts";
import { openServiceNumbers } from "./service-numbers.ts";

const owner = { namespace: "default", name: "web" };

async function setup() {
  const plane = await openPlane();
  const { registry, clock } = plane;
  const store = plane.store;
  const allocation = new RangeAllocation(store, { range: "30000-30099" });
  const random = new FakeRandom(1);
  const lookup = createLister(registry);
  const deps = { registry, lookup, allocation, clock, random, log: silentLog };
  const options = { range: "10.96.0.0/24", firstNodePort: 30_000, lastNodePort: 30_099 };
  const { repair, addresses, ports } = openServiceNumbers(deps, options);
  const info = must(resourceByPath("", "v1", "services"), "services are built in");
  const serviceStore = registry.store(info);
  const put = async (spec: Service["spec"], name = owner.name): Promise<void> => {
    const metadata = { ...owner, name };
    const service = { apiVersion: "v1", kind: "Service", metadata, spec };
    const defaults = {
      sessionAffinity: "None",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    };
    const whole = { ...service, spec: { internalTrafficPolicy: "Cluster", ...defaults, ...spec } };
    await serviceStore.create("default", whole as AnyObject, { dryRun: false });
  };
  const names = (): readonly (string | undefined)[] =>
    addresses.list().map(({ metadata }) => metadata?.name);
  const told = (): readonly string[] =>
    (lookup.list({ group: "", resource: "events" }, "") as unknown as readonly Event[])
      .map(({ reason, message, involvedObject: { name } }) => `${name} ${reason} ${message}`)
      .toSorted();
  await repair.run();
  return { plane, repair, addresses, ports, put, names, told };
}

const clusterIp = { clusterIP: "10.96.0.5", clusterIPs: ["10.96.0.5"] };
const nodePort = {
  ...clusterIp,
  type: "NodePort",
  externalTrafficPolicy: "Cluster",
  ports: [{ port: 80, protocol: "TCP", targetPort: 80, nodePort: 30_007 }],
};

test("what a Service has and nobody reserved is reserved", async () => {
  const { plane, repair, ports, put, names, told } = await setup();
  await put(nodePort);
  await repair.run();
  assert.deepEqual(told(), [
    "web ClusterIPNotAllocated Cluster IP [IPv4]: 10.96.0.5 is not allocated; repairing",
    "web PortNotAllocated Port 30007 is not allocated; repairing",
  ]);
  await repair.run();
  assert.equal(told().length, 2);
  assert.deepEqual(names(), ["10.96.0.5"]);
  const taken = new Set<number>();
  const isFree = await ports.change((set) => set.take(30_007), { dryRun: true, taken });
  assert.equal(isFree, false);
  await plane.close();
});

test("an address without its Service is freed after a minute, not before", async () => {
  const { plane, repair, addresses, names, told } = await setup();
  await addresses.create("10.96.0.9", owner);
  plane.clock.tick(59_000);
  await repair.run();
  assert.deepEqual(names(), ["10.96.0.9"]);
  plane.clock.tick(2_000);
  await repair.run();
  assert.deepEqual(names(), []);
  assert.deepEqual(told(), [
    "10.96.0.9 IPAddressNotAllocated IPAddress: 10.96.0.9 for Service default/web appears to have leaked: cleaning up",
  ]);
  await plane.close();
});

test("an address that says another owner than the Service that has it is made anew", async () => {
  const { plane, repair, addresses, put, names } = await setup();
  await put({
    ...clusterIp,
    type: "ClusterIP",
    ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
  });
  await addresses.create("10.96.0.5", { namespace: "default", name: "nobody" });
  await repair.run();
  assert.deepEqual(names(), ["10.96.0.5"]);
  assert.equal(addresses.get("10.96.0.5")?.spec?.parentRef?.name, "web");
  await plane.close();
});

test("a port without a Service is freed by the fourth round that sees it", async () => {
  const { plane, repair, ports } = await setup();
  const taken = new Set<number>();
  await ports.change((set) => set.take(30_050), { dryRun: false, taken });
  const isTaken = (): Promise<boolean> =>
    ports.change((set) => set.ports.has(30_050), { dryRun: true, taken });
  const seen: boolean[] = [];
  for (let round = 0; round < 4; round++) {
    await repair.run();
    seen.push(await isTaken());
  }
  assert.deepEqual(seen, [true, true, true, false]);
  await plane.close();
});

test("numbers that two Services have, and numbers out of range, are told, and nothing is taken from anybody", async () => {
  const { plane, repair, put, names, told } = await setup();
  await put(nodePort);
  await repair.run();
  await put(nodePort, "twin");
  const far = { clusterIP: "192.168.7.7", clusterIPs: ["192.168.7.7"] };
  const ports = [{ port: 80, protocol: "TCP", targetPort: 80, nodePort: 40_000 }];
  await put({ ...nodePort, ...far, ports }, "far");
  await repair.run();
  assert.deepEqual(names(), ["10.96.0.5"]);
  assert.deepEqual(
    told().filter((line) => !line.startsWith("web ClusterIPNot")),
    [
      "far ClusterIPOutOfRange Cluster IP [IPv4]: 192.168.7.7 is not within any configured Service CIDR; please recreate service",
      "far PortOutOfRange Port 40000 is not within the port range 30000-30099; please recreate service",
      "twin ClusterIPAlreadyAllocated Cluster IP [IPv4]:10.96.0.5 was assigned to multiple services; please recreate service",
      "web PortAlreadyAllocated Port 30007 was assigned to multiple services; please recreate service",
      "web PortNotAllocated Port 30007 is not allocated; repairing",
    ],
  );
  await plane.close();
});
