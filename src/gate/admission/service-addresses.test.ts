/** Addresses and node ports: given once, given back, refused with upstream texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import type { IPAddress, Service, ServiceSpec } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionRequest } from "./admission.ts";
import { createAdmission } from "./chain.ts";
import { serviceAddresses } from "./service-addresses.ts";
import { FakeLookup, fakeRequest, fakeServiceNumbers, ipAddress, outcome } from "./testing.ts";

function service(name: string, spec: object = {}): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "ns" },
    spec: { type: "ClusterIP", selector: { app: "a" }, ports: [{ port: 80 }], ...spec },
  };
}

function setup(range = "10.96.0.0/16", ...stored: AnyObject[]) {
  const lookup = new FakeLookup(...stored);
  const options = { range, firstNodePort: 30_000, lastNodePort: 32_767 };
  const serviceNumbers = fakeServiceNumbers(lookup);
  const plugin = serviceAddresses({ lookup, random: new FakeRandom(1), serviceNumbers }, options);
  const admission = createAdmission([plugin]);
  const mutate = async (object: AnyObject, over: Partial<AdmissionRequest> = {}) =>
    (await admission.mutate(fakeRequest(object, over))) as Service & AnyObject;
  const create = async (object: AnyObject): Promise<ServiceSpec> => {
    const made = await mutate(object);
    lookup.put(made);
    return made.spec ?? {};
  };
  return { lookup, serviceNumbers, admission, mutate, create };
}

test("a service gets an address of the range and SingleStack IPv4", async () => {
  const { create } = setup();
  const spec = await create(service("s"));
  assert.match(spec.clusterIP ?? "", /^10\.96\.\d+\.\d+$/);
  assert.deepEqual(spec.clusterIPs, [spec.clusterIP]);
  assert.deepEqual(spec.ipFamilies, ["IPv4"]);
  assert.equal(spec.ipFamilyPolicy, "SingleStack");
  assert.equal(spec.ports?.[0]?.nodePort, undefined);
});

test("headless and external services get none; without selector, headless is for both families", async () => {
  const { create } = setup();
  const headless = await create(service("h", { clusterIP: "None" }));
  assert.deepEqual(headless.clusterIPs, ["None"]);
  assert.deepEqual(headless.ipFamilies, ["IPv4"]);
  const open = await create(service("o", { clusterIP: "None", selector: undefined }));
  assert.equal(open.ipFamilyPolicy, "RequireDualStack");
  assert.deepEqual(open.ipFamilies, ["IPv4", "IPv6"]);
  const external = service("e", { type: "ExternalName", externalName: "x.org" });
  assert.deepEqual(await create(external), external["spec"]);
});

test("an asked-for address is given once, and only from the range", async () => {
  const { create } = setup();
  const first = await create(service("a", { clusterIP: "10.96.0.10" }));
  assert.deepEqual(first.clusterIPs, ["10.96.0.10"]);
  assert.equal(
    await outcome(() => create(service("b", { clusterIP: "10.96.0.10" }))),
    '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
  );
  assert.equal(
    await outcome(() => create(service("c", { clusterIP: "10.97.0.1" }))),
    '422 Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.97.0.1"]: failed to allocate IP 10.97.0.1: the provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
  );
});

test("what is reserved is taken, and a full range is refused; what is released is free again", async () => {
  const old = { namespace: "ns", name: "old" };
  const { create, serviceNumbers } = setup("10.96.0.0/28", ipAddress("10.96.0.7", old));
  const seen = new Set<string>();
  for (let i = 0; i < 13; i++) seen.add((await create(service(`s${i}`))).clusterIP ?? "");
  assert.equal(seen.size, 13);
  assert.ok(!seen.has("10.96.0.7"));
  assert.match(
    await outcome(() => create(service("more"))),
    /500 .*failed to allocate a serviceIP for Service "more": range is full/,
  );
  await serviceNumbers.addresses.release("10.96.0.7", old);
  assert.equal((await create(service("more"))).clusterIP, "10.96.0.7");
});

test("an abandoned create frees its address and port at once", async () => {
  const { admission, create } = setup();
  const ports = [{ port: 80, nodePort: 30_080 }];
  const spec = { type: "NodePort", clusterIP: "10.96.0.10", ports };
  const request = fakeRequest(service("a", spec), { attempt: {} });
  await admission.mutate(request);
  const other = service("b", spec);
  assert.match(await outcome(() => create(other)), /already allocated/);
  await admission.unreserve({ ...request });
  assert.equal((await create(other)).clusterIP, "10.96.0.10");
});

test("a service asked about twice in one attempt keeps what it has", async () => {
  const { admission } = setup();
  const request = fakeRequest(service("a", { type: "NodePort" }), { attempt: {} });
  const once = await admission.mutate(request);
  assert.deepEqual(await admission.mutate({ ...request, object: once }), once);
});

test("a service with a generated name reserves its address under that name", async () => {
  const { lookup, mutate } = setup();
  const { metadata: _, ...unnamed } = service("");
  const made = await mutate({ ...unnamed, metadata: { generateName: "web-", namespace: "ns" } });
  const resource = { group: "networking.k8s.io", resource: "ipaddresses" };
  const address = lookup.get(resource, "", made.spec?.clusterIP ?? "") as IPAddress | undefined;
  assert.match(made.metadata?.name ?? "", /^web-/);
  assert.equal(address?.spec?.parentRef?.name, made.metadata?.name);
});

test("nothing is reserved for a service whose name validation will refuse", async () => {
  const { lookup, mutate } = setup();
  for (const name of ["", "a/b", ".."]) await mutate(service(name));
  assert.deepEqual(lookup.list({ group: "networking.k8s.io", resource: "ipaddresses" }, ""), []);
});

test("a second ready range is used when the first is full; one that is not ready is not", async () => {
  const range = (name: string, cidr: string, status: string) => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name },
    spec: { cidrs: [cidr] },
    status: { conditions: [{ type: "Ready", status }] },
  });
  const first = range("kubernetes", "10.96.0.0/30", "True");
  const { create, lookup } = setup("10.96.0.0/30", first, range("more", "10.97.0.0/30", "False"));
  const one = await create(service("a"));
  const two = await create(service("b"));
  assert.deepEqual([one.clusterIP, two.clusterIP].sort(), ["10.96.0.1", "10.96.0.2"]);
  assert.match(await outcome(() => create(service("c"))), /range is full/);
  lookup.put(range("more", "10.97.0.0/30", "True"));
  assert.match((await create(service("c"))).clusterIP ?? "", /^10\.97\.0\.[12]$/);
});

test("abandoning a refused create does not free what another holds", async () => {
  const { admission, create } = setup();
  await create(service("a", { clusterIP: "10.96.0.10" }));
  const thief = fakeRequest(service("b", { clusterIP: "10.96.0.10" }), { attempt: {} });
  assert.match(await outcome(() => admission.mutate(thief)), /already allocated/);
  await admission.unreserve(thief);
  const again = service("c", { clusterIP: "10.96.0.10" });
  assert.match(await outcome(() => create(again)), /already allocated/);
});

test("a dry run sees an address and takes none", async () => {
  const { mutate, create } = setup();
  const wanted = service("a", { clusterIP: "10.96.0.10" });
  await mutate(wanted, { dryRun: true });
  assert.equal((await create(service("b", { clusterIP: "10.96.0.10" }))).clusterIP, "10.96.0.10");
});

test("node ports come from their range; TCP and UDP of one port share", async () => {
  const { create } = setup();
  const ports = [
    { port: 53, protocol: "TCP", name: "t" },
    { port: 53, protocol: "UDP", name: "u" },
    { port: 80, name: "w", nodePort: 30_080 },
  ];
  const spec = await create(service("s", { type: "NodePort", ports }));
  const [tcp, udp, web] = (spec.ports ?? []).map((port) => port.nodePort ?? 0);
  assert.ok(tcp !== undefined && tcp >= 30_000 && tcp <= 32_767);
  assert.equal(udp, tcp);
  assert.equal(web, 30_080);
  const again = service("t", { type: "NodePort", ports: [{ port: 1, nodePort: 30_080 }] });
  assert.equal(
    await outcome(() => create(again)),
    '422 Service "t" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
  );
  const low = service("u", { type: "NodePort", ports: [{ port: 1, nodePort: 80 }] });
  assert.match(
    await outcome(() => create(low)),
    /provided port is not in the valid range. The range of valid ports is 30000-32767$/,
  );
});

test("a load balancer gets a health port when local, and no node ports when told so", async () => {
  const { create } = setup();
  const local = await create(
    service("l", { type: "LoadBalancer", externalTrafficPolicy: "Local" }),
  );
  assert.ok((local.healthCheckNodePort ?? 0) >= 30_000);
  const bare = await create(
    service("b", { type: "LoadBalancer", allocateLoadBalancerNodePorts: false }),
  );
  assert.equal(bare.ports?.[0]?.nodePort, undefined);
});

test("an update keeps what it leaves out and allocates only what is new", async () => {
  const { create, mutate, lookup } = setup();
  const spec = await create(service("s", { type: "NodePort", ports: [{ name: "a", port: 80 }] }));
  const oldObject = lookup.get({ group: "", resource: "services" }, "ns", "s");
  assert.ok(oldObject !== undefined);
  const ports = [
    { name: "a", port: 80 },
    { name: "b", port: 81 },
  ];
  const next = await mutate(service("s", { type: "NodePort", ports }), {
    operation: "UPDATE",
    oldObject,
  });
  assert.equal(next.spec?.clusterIP, spec.clusterIP);
  assert.equal(next.spec?.ports?.[0]?.nodePort, spec.ports?.[0]?.nodePort);
  assert.notEqual(next.spec?.ports?.[1]?.nodePort, spec.ports?.[0]?.nodePort);
  assert.ok((next.spec?.ports?.[1]?.nodePort ?? 0) >= 30_000);
});

test("an external name that becomes a cluster service gets an address", async () => {
  const { mutate } = setup();
  const oldObject = service("s", { type: "ExternalName", externalName: "x.org" });
  const next = await mutate(service("s"), { operation: "UPDATE", oldObject });
  assert.match(next.spec?.clusterIP ?? "", /^10\.96\./);
});

test("dual stack is refused with upstream's texts", async () => {
  const { create } = setup();
  assert.equal(
    await outcome(() => create(service("s", { ipFamilyPolicy: "RequireDualStack" }))),
    '422 Service "s" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
  );
  assert.equal(
    await outcome(() => create(service("s", { ipFamilies: ["IPv6"] }))),
    '422 Service "s" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
  );
  const preferred = await create(service("s", { ipFamilyPolicy: "PreferDualStack" }));
  assert.deepEqual(preferred.ipFamilies, ["IPv4"]);
});

test("a thousand services have a thousand addresses", async () => {
  const { create } = setup();
  const seen = new Set<string>();
  for (let i = 0; i < 1000; i++) seen.add((await create(service(`s${i}`))).clusterIP ?? "");
  assert.equal(seen.size, 1000);
});
