/**
 * Two API servers over one storage in this process: neither an address nor a port is handed out twice, also when
 * users made objects under the names by which they are reserved.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { IPAddress, Service } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { ensurePki } from "#auth/pki-files.ts";
import type { Client } from "#client/client.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { type Plane, startPlane } from "#cmd/plane/plane.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { OpenedStore } from "#store/full-store.ts";
import { openStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Key } from "#store/store.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";

const services = { group: "", version: "v1", resource: "services" };
const addresses = { group: "networking.k8s.io", version: "v1", resource: "ipaddresses" };
const cidrs = { group: "networking.k8s.io", version: "v1", resource: "servicecidrs" };

function service(name: string, spec: object = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { selector: { app: "a" }, ports: [{ port: 80 }], ...spec },
  };
}

void describe("two API servers over one storage", () => {
  const scratch = temporaryDirectory("service-numbers");
  const own = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
  const host = { ...own, log: silentLog };
  const planes: Plane[] = [];
  let store: OpenedStore;
  let a: Client;
  let b: Client;

  async function start(): Promise<Client> {
    const pki = ensurePki(join(scratch, "pki"), { ...host, extraHosts: [], serviceAddress });
    const serviceAddresses = { range: "10.96.0.0/22", firstNodePort: 30_000, lastNodePort: 30_599 };
    const plane = await startPlane(host, {
      pki,
      host: "127.0.0.1",
      port: 0,
      nodes: 0,
      loops: "none",
      serviceAddresses,
      openStore: () => Promise.resolve(unclosed(store)),
    });
    planes.push(plane);
    return plane.client;
  }

  before(async () => {
    store = await openStore(host, { ...recommendedOptions, engine: "memory" });
    a = await start();
    b = await start();
  });
  after(async () => {
    for (const plane of planes) await plane.stop();
    await store.close();
    removeDirectory(scratch);
  });

  const release = async (): Promise<void> => {
    const { items } = await a.list<Service>(services, { namespace: "default" });
    const others = items.filter(({ metadata }) => metadata?.name !== "kubernetes");
    await Promise.all(others.map((one) => b.delete(services, "default", one.metadata?.name ?? "")));
  };

  it("create 500 Services at once without one address or port twice, and free them all", async () => {
    const made = await Promise.all(
      Array.from({ length: 500 }, (_, one) =>
        (one % 2 === 0 ? a : b).create<Service>(
          services,
          "default",
          service(`s-${one}`, { type: "NodePort" }),
        ),
      ),
    );
    assert.equal(new Set(made.map(({ spec }) => spec?.clusterIP)).size, 500);
    assert.equal(new Set(made.map(({ spec }) => spec?.ports?.[0]?.nodePort)).size, 500);
    const reserved = await a.list<IPAddress>(addresses, {});
    assert.equal(reserved.items.length, 501, "one more of Service kubernetes");
    await release();
    const left = await a.list<IPAddress>(addresses, {});
    assert.deepEqual(
      left.items.map(({ metadata }) => metadata?.name),
      ["10.96.0.1"],
    );
    assert.equal(storedPorts(store), "", "every port is free");
  });

  it("give back what a refused Service had reserved", async () => {
    await assert.rejects(
      a.create(services, "default", service("refused", { type: "NodePort", ports: [] })),
      (error) => error instanceof ApiError && error.code === 422,
    );
    const left = await a.list<IPAddress>(addresses, {});
    assert.equal(left.items.length, 1);
    assert.equal(storedPorts(store), "");
  });

  it("never give an address that somebody's IPAddress has, nor delete that object", async () => {
    const foreign = {
      apiVersion: "networking.k8s.io/v1",
      kind: "IPAddress",
      metadata: { name: "10.96.1.7" },
      spec: { parentRef: { group: "gateway.networking.k8s.io", resource: "gateways", name: "g" } },
    } as IPAddress;
    await a.create(addresses, "", foreign);
    await assert.rejects(
      b.create(services, "default", service("wants", { clusterIP: "10.96.1.7" })),
      /failed to allocate IP 10\.96\.1\.7: provided IP is already allocated/,
    );
    await b.get(addresses, "", "10.96.1.7");
    await a.delete(addresses, "", "10.96.1.7");
    const made = await b.create<Service>(
      services,
      "default",
      service("wants", { clusterIP: "10.96.1.7" }),
    );
    assert.equal(made.spec?.clusterIP, "10.96.1.7");
    await release();
  });

  it("give back the address of a Service that becomes an external name", async () => {
    const made = await a.create<Service>(services, "default", service("out"));
    const external: Service = { ...made, spec: { type: "ExternalName", externalName: "x.org" } };
    await b.update(services, "default", external);
    await assert.rejects(a.get(addresses, "", made.spec?.clusterIP ?? ""), /not found/);
    await release();
  });

  it("allocate from a second range once it is ready", async () => {
    const more = {
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name: "more" },
      spec: { cidrs: ["10.98.0.0/28"] },
    };
    await a.create(cidrs, "", more);
    const wanted = service("second", { clusterIP: "10.98.0.3" });
    await assert.rejects(b.create(services, "default", wanted), /is not in the valid range/);
    const ready = { type: "Ready", status: "True", reason: "", message: "" };
    const conditions = [{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const current = await a.get(cidrs, "", "more");
    await a.update(cidrs, "", { ...current, status: { conditions } } as never, {
      subresource: "status",
    });
    assert.equal(
      (await b.create<Service>(services, "default", wanted)).spec?.clusterIP,
      "10.98.0.3",
    );
    await release();
  });

  it("refuse node ports under a broken set, and go on when a server has repaired it", async () => {
    const broken = {
      apiVersion: "v1",
      kind: "RangeAllocation",
      metadata: {},
      range: "1-2",
      data: "AA==",
    };
    await store.put(portsKey, new TextEncoder().encode(JSON.stringify(broken)), {});
    await assert.rejects(
      a.create(services, "default", service("port", { type: "NodePort" })),
      /cannot allocate resources of type servicenodeportallocations at this time/,
    );
    await a.create(services, "default", service("plain"));
    await start();
    await b.create(services, "default", service("port", { type: "NodePort" }));
    await release();
  });
});

const portsKey = "/registry/core/rangeallocations/servicenodeports" as Key;

/** Base64 of what is stored. */
function storedPorts(store: OpenedStore): string {
  const found = store.get(portsKey);
  assert.equal(found.kind, "found");
  return found.kind === "found" ? JSON.parse(new TextDecoder().decode(found.kv.value)).data : "";
}

/** The same store, which the planes leave open. */
function unclosed(store: OpenedStore): OpenedStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === "close") return () => Promise.resolve();
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
