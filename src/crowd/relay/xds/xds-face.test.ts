/** The discovery service of a relay before a fake upstream: rights over time, backpressure, new states. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import type { UserInfo } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { prefixBytes } from "#wire/grpc.ts";
import type { AnyObject } from "#api/object.ts";
import { at, decode } from "#xds/testing/envoy-definitions.ts";
import { anyValue, deltaRequest, type DeltaTold, readDelta } from "#xds/testing/test-client.ts";
import { clusterType, endpointsType, listenerType } from "#xds/type-urls.ts";
import { relayLimits } from "../limits.ts";
import { collectionPath, definitionsKind } from "../mirror/mirrored-kind.ts";
import { createRelay, type Relay } from "../relay.ts";
import { FakeCollections } from "../testing/fake-collections.ts";
import { relayDeps } from "../testing/relay-fixture.ts";
import { xdsLimits } from "./limits.ts";
import type { XdsTransport } from "./xds-call.ts";

const kinds = [
  ["", "v1", "services", "Service"],
  ["discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"],
  ["networking.k8s.io", "v1", "ingresses", "Ingress"],
].map(([group = "", version = "", resource = "", kind = ""]) => ({
  group,
  version,
  resource,
  kind,
  namespaced: true,
  apiVersion: group === "" ? version : `${group}/${version}`,
}));
const group = "gateway.networking.k8s.io";
const definitions = collectionPath(definitionsKind);
const gateways = `/apis/${group}/v1/gateways`;
const services = "/api/v1/services";
const slices = "/apis/discovery.k8s.io/v1/endpointslices";
const name = "web.shop.svc.cluster.local:80";
const ann: UserInfo = { name: "ann", groups: [] };
const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

interface Review {
  readonly resourceAttributes?: { readonly namespace?: string };
}

function gatewayDefinition(generation: number): AnyObject {
  const names = { plural: "gateways", kind: "Gateway", listKind: "GatewayList" };
  const versions = [{ name: "v1", served: true, storage: true }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `gateways.${group}`, uid: "u", generation },
    spec: { group, names, scope: "Namespaced", versions },
    status: { acceptedNames: names, conditions: [{ type: "Established", status: "True" }] },
  } as AnyObject;
}

class World {
  readonly clock = new FakeClock();
  readonly upstream = new FakeCollections();
  readonly relay: Relay;
  /** Namespaces that ann may not read; "": all. */
  readonly denied = new Set<string>();
  reviewsAway = false;

  constructor() {
    const ingresses = "/apis/networking.k8s.io/v1/ingresses";
    for (const at of [services, slices, ingresses, definitions, gateways]) this.upstream.serve(at);
    const ports = [{ name: "http", port: 80 }];
    const metadata = { namespace: "shop", name: "web" };
    this.upstream.put(services, { apiVersion: "v1", kind: "Service", metadata, spec: { ports } });
    this.endpoints("10.0.0.1");
    const create = (_ref: unknown, _namespace: string, review: { spec: Review }): unknown => {
      if (this.reviewsAway) return Promise.reject(failure(503, "ServiceUnavailable", "away"));
      const { namespace = "" } = review.spec.resourceAttributes ?? {};
      return Promise.resolve({ status: { allowed: !this.denied.has(namespace) } });
    };
    this.relay = createRelay(
      { ...relayDeps(this.clock, this.upstream), client: { create } as unknown as Client },
      {
        resources: kinds,
        custom: { definitions: definitionsKind, names: [`${group}/v1/gateways`] },
        views: [],
        consistency: "cache",
        limits: { ...relayLimits, flushMs: 0 },
        xds: xdsLimits,
      },
    );
  }

  /** The definition of Gateways, of that generation. */
  define(generation: number): void {
    this.upstream.put(definitions, gatewayDefinition(generation));
  }

  endpoints(address: string): void {
    this.upstream.put(slices, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        namespace: "shop",
        name: "web-1",
        labels: { "kubernetes.io/service-name": "web" },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [{ addresses: [address] }],
    });
  }

  async open(): Promise<Call> {
    const call = new Call(this);
    await this.clock.advance(1);
    return call;
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.upstream.close();
    await this.clock.advance(60_000);
    await stopped;
  }
}

/** A client whose reading is in the test's hands. */
class Call implements XdsTransport {
  readonly sent: DeltaTold[] = [];
  failed: { readonly code: number; readonly message: string } | undefined;
  backlogBytes = 0;
  readonly #world: World;
  readonly #end: { message(bytes: Buffer): void };
  #drained: (() => void) | undefined;

  constructor(world: World) {
    this.#world = world;
    const method = world.relay.xds?.methods({ kind: "direct", user: ann }).get(path);
    assert.ok(method !== undefined);
    this.#end = method.open(this);
  }

  get isClosed(): boolean {
    return this.failed !== undefined;
  }

  async ask(ask: Parameters<typeof deltaRequest>[0]): Promise<void> {
    this.#end.message(Buffer.from(deltaRequest(ask)));
    await this.#world.clock.advance(200);
  }

  /** Takes the last response. */
  async acknowledge(): Promise<void> {
    const { type, nonce } = this.sent.at(-1) ?? { type: "", nonce: "" };
    await this.ask({ type, nonce });
  }

  send(withHeadroom: Buffer): void {
    this.sent.push(readDelta(withHeadroom.subarray(prefixBytes)));
  }

  sendPieces(pieces: readonly Buffer[]): void {
    this.send(Buffer.concat(pieces));
  }

  onDrain(f: () => void): void {
    this.#drained = f;
  }

  async drain(): Promise<void> {
    this.backlogBytes = 0;
    this.#drained?.();
    await this.#world.clock.advance(200);
  }

  end(): void {}

  fail(error: unknown): void {
    this.failed = error as { code: number; message: string };
  }
}

test("a call before the first lists is sent elsewhere", async () => {
  const world = new World();
  assert.equal(new Call(world).failed?.code, 14);
  await world.clock.advance(100);
  assert.equal((await world.open()).failed, undefined);
  await world.stop();
});

test("a stream ends when its right does, and not while the upstream cannot say", async () => {
  const world = new World();
  await world.clock.advance(100);
  world.denied.add("");
  const call = await world.open();
  await call.ask({ type: endpointsType, subscribe: [name] });
  assert.deepEqual([...(call.sent[0]?.resources.keys() ?? [])], [name]);
  world.reviewsAway = true;
  await world.clock.advance(120_000);
  assert.ok(!call.isClosed);
  world.reviewsAway = false;
  world.denied.add("shop");
  await world.clock.advance(120_000);
  assert.equal(call.failed?.code, 7);
  assert.match(call.failed?.message ?? "", /the namespace "shop"/);
  await world.stop();
});

test("a right that comes later shows what was named before", async () => {
  const world = new World();
  await world.clock.advance(100);
  for (const where of ["", "shop"]) world.denied.add(where);
  const call = await world.open();
  await call.ask({ type: endpointsType, subscribe: [name] });
  assert.deepEqual(call.sent[0]?.removed, [name]);
  await call.acknowledge();
  world.denied.delete("shop");
  await world.clock.advance(60_000);
  assert.deepEqual([...(call.sent[1]?.resources.keys() ?? [])], [name]);
  await world.stop();
});

test("a client that does not read is sent nothing more, and then the newest", async () => {
  const world = new World();
  await world.clock.advance(100);
  const call = await world.open();
  await call.ask({ type: endpointsType, subscribe: [name] });
  call.backlogBytes = xdsLimits.backlogBytesMax + 1;
  await call.acknowledge();
  for (let i = 2; i < 20; i++) {
    world.endpoints(`10.0.0.${i}`);
    await world.clock.advance(50);
  }
  assert.equal(call.sent.length, 1);
  await call.drain();
  assert.equal(call.sent.length, 2);
  const { any = new Uint8Array(0) } = call.sent[1]?.resources.get(name) ?? {};
  assert.ok(Buffer.from(any).includes("10.0.0.19"));
  await world.stop();
});

test("what a mirror that begins anew does not hold is gone", async () => {
  const world = new World();
  await world.clock.advance(100);
  const call = await world.open();
  await call.ask({ type: clusterType });
  await call.acknowledge();
  const mirror = world.relay.resources.find(({ kind }) => kind.resource === "services")?.mirror;
  // The upstream went back in time, and has no Services: the mirror begins anew.
  const anew = mirror?.replace([], 1);
  await world.clock.advance(100);
  await anew;
  await world.clock.advance(100);
  const told = call.sent
    .slice(1)
    .flatMap(({ resources, removed }) => [
      ...[...resources.keys()].map((key) => `+${key}`),
      ...removed.map((key) => `-${key}`),
    ]);
  assert.deepEqual(told, [`-${name}`]);
  await world.stop();
});

test("Gateways are served from when they are defined; a new definition ends nothing, its end does", async () => {
  const world = new World();
  await world.clock.advance(100);
  const call = await world.open();
  await call.ask({ type: listenerType });
  const [nothing] = call.sent.splice(0);
  assert.equal(nothing?.resources.size, 0, "ready at once: there is no listener");
  await call.ask({ type: listenerType, nonce: nothing.nonce });
  const told = (): readonly string[] =>
    call.sent
      .splice(0)
      .flatMap(({ resources, removed }) => [
        ...[...resources.keys()].map((key) => `+${key}`),
        ...removed.map((key) => `-${key}`),
      ]);
  const metadata = { namespace: "shop", name: "edge" };
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  const object = { apiVersion: `${group}/v1`, kind: "Gateway", metadata, spec: { listeners } };
  world.upstream.put(gateways, object as AnyObject);
  world.define(1);
  await world.clock.advance(20_000);
  const { nonce = "" } = call.sent.at(-1) ?? {};
  assert.deepEqual(told(), ["+gateway-80"]);
  await call.ask({ type: listenerType, nonce });
  world.define(2);
  await world.clock.advance(120_000);
  assert.deepEqual(told(), []);
  world.upstream.remove(definitions, gatewayDefinition(2));
  await world.clock.advance(120_000);
  assert.deepEqual(told(), ["-gateway-80"]);
  await world.stop();
});

test("a mirrored collection is served as it is, by the rights on it", async () => {
  const world = new World();
  await world.clock.advance(100);
  world.denied.add("");
  const type = "v1/services/google.protobuf.Struct";
  const call = await world.open();
  await call.ask({ type, subscribe: ["shop/web", "shop/none"] });
  const [first] = call.sent;
  assert.deepEqual(
    [[...(first?.resources.keys() ?? [])], first?.removed],
    [["shop/web"], ["shop/none"]],
  );
  const { any = new Uint8Array(0) } = first?.resources.get("shop/web") ?? {};
  const spec = "fields.spec.structValue.fields.ports.listValue.values.0.structValue";
  const port = at(decode(type, anyValue(any)), `${spec}.fields.port.numberValue`);
  assert.equal(port, 80);
  await call.acknowledge();
  world.upstream.remove(services, { metadata: { namespace: "shop", name: "web" } } as AnyObject);
  await world.clock.advance(1000);
  assert.deepEqual(call.sent[1]?.removed, ["shop/web"]);
  for (const unknown of ["v1/secrets", "type.googleapis.com", "a b/v1/x"]) {
    const other = await world.open();
    await other.ask({ type: `${unknown}/google.protobuf.Struct`, subscribe: ["shop/web"] });
    assert.deepEqual(other.sent[0]?.removed, ["shop/web"], unknown);
  }
  const everything = await world.open();
  await everything.ask({ type, subscribe: ["*"] });
  assert.equal(everything.failed?.code, 7);
  assert.match(everything.failed?.message ?? "", /watch v1\/services of all namespaces/);
  await world.stop();
});

test("a stopped relay ends its calls and takes none", async () => {
  const world = new World();
  await world.clock.advance(100);
  const call = await world.open();
  await world.stop();
  assert.equal(call.failed?.code, 14);
  assert.equal(new Call(world).failed?.code, 14);
});
