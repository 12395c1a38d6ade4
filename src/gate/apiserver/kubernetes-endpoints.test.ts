/** Several API servers: all that live are listed, and no other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoints, EndpointSlice } from "#api/gen/types.ts";
import { silentLog } from "#platform/log.ts";
import { MasterLeases } from "#registry/master-leases.ts";
import { KubernetesEndpoints } from "./kubernetes-endpoints.ts";
import { ask, openPlane } from "./testing/plane.ts";

const path = "/api/v1/namespaces/default/endpoints/kubernetes";
const slicePath = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";

async function setup() {
  const plane = await openPlane();
  const store = plane.store;
  const { clock } = plane;
  const { catalog } = plane.server;
  const server = (host: string, port = 6443): KubernetesEndpoints => {
    const deps = { catalog, clock, log: silentLog, leases: new MasterLeases(store) };
    return new KubernetesEndpoints(deps, { host, port });
  };
  const listed = async (): Promise<readonly string[]> => {
    const endpoints = (await ask(plane, "GET", path)).json as Endpoints;
    const slice = (await ask(plane, "GET", slicePath)).json as unknown as EndpointSlice;
    const all = (endpoints.subsets ?? []).flatMap(({ addresses = [] }) => addresses);
    const ips = all.map(({ ip }) => ip);
    assert.deepEqual(
      slice.endpoints?.flatMap(({ addresses }) => addresses),
      ips,
    );
    return ips;
  };
  return { plane, store, server, listed };
}

test("every server is listed, and one that stops is not any more", async () => {
  const { plane, server, listed } = await setup();
  const [a, b] = [server("192.0.2.1"), server("192.0.2.2", 7443)];
  await a.start();
  await b.start();
  assert.deepEqual(await listed(), ["192.0.2.1", "192.0.2.2"]);
  await a.close();
  assert.deepEqual(await listed(), ["192.0.2.2"]);
  await b.close();
  assert.deepEqual(await listed(), []);
  await plane.close();
});

test("a lease that nobody renews is out with another server's next round", async () => {
  const { plane, store, server, listed } = await setup();
  await new MasterLeases(store).renew("192.0.2.9");
  const a = server("192.0.2.1");
  await a.start();
  assert.deepEqual(await listed(), ["192.0.2.1", "192.0.2.9"]);
  for (let second = 0; second < 25; second++) {
    plane.clock.tick(1_000);
    await new Promise(setImmediate);
  }
  assert.deepEqual(await listed(), ["192.0.2.1"]);
  await a.close();
  await plane.close();
});
