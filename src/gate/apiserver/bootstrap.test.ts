/** What a fresh server keeps about itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { bootstrapFlowSchemas } from "#flowcontrol/bootstrap.ts";
import { silentLog } from "#platform/log.ts";
import { bootstrap } from "./bootstrap.ts";
import { firstAddress } from "./bootstrap-objects.ts";
import { ask, openPlane } from "./testing/plane.ts";

const facts = {
  advertise: { host: "192.0.2.7", port: 6443 },
  serviceCidr: "10.96.0.0/12",
  clientCa: "PEM",
};
const options = { controllerRoles: [] };

test("bootstrap makes every object once, and a second run changes nothing", async () => {
  const plane = await openPlane();
  const deps = { catalog: plane.server.catalog, clock: plane.clock, log: silentLog };
  await bootstrap(deps, facts, options);
  const version = async (): Promise<string | undefined> =>
    (await ask(plane, "GET", "/api/v1/namespaces")).json.metadata?.resourceVersion;
  const before = await version();
  await bootstrap(deps, facts, options);
  assert.equal(await version(), before);
  const service = await ask(plane, "GET", "/api/v1/namespaces/default/services/kubernetes");
  assert.equal((service.json["spec"] as { clusterIP?: string }).clusterIP, "10.96.0.1");
  const counts = {
    "/api/v1/namespaces": 4,
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": bootstrapFlowSchemas().length,
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": 8,
    "/apis/scheduling.k8s.io/v1/priorityclasses": 2,
    "/api/v1/namespaces/default/endpoints": 1,
  };
  for (const [path, count] of Object.entries(counts)) {
    const list = await ask(plane, "GET", path);
    assert.equal((list.json["items"] as AnyObject[]).length, count, path);
  }
  const services = await ask(plane, "GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps");
  const { conditions } = services.json["status"] as { conditions: { status: string }[] };
  assert.equal(conditions[0]?.status, "True");
  await plane.close();
});

test("another address moves the endpoints, a loopback address makes none", async () => {
  const plane = await openPlane();
  const deps = { catalog: plane.server.catalog, clock: plane.clock, log: silentLog };
  const path = "/api/v1/namespaces/default/endpoints/kubernetes";
  await bootstrap(deps, { ...facts, advertise: { host: "127.0.0.1", port: 1 } }, options);
  assert.equal((await ask(plane, "GET", path)).status, 404);
  await bootstrap(deps, facts, options);
  await bootstrap(deps, { ...facts, advertise: { host: "192.0.2.8", port: 6443 } }, options);
  assert.match((await ask(plane, "GET", path)).text, /192\.0\.2\.8/);
  await plane.close();
});

test("delegates are told whom to trust now; what others added stays", async () => {
  const plane = await openPlane();
  const deps = { catalog: plane.server.catalog, clock: plane.clock, log: silentLog };
  const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
  await bootstrap(deps, facts, options);
  const type = "application/merge-patch+json";
  await ask(plane, "PATCH", path, { body: { data: { own: "kept" } }, type });
  await bootstrap(deps, { ...facts, clientCa: "NEW" }, options);
  assert.deepEqual((await ask(plane, "GET", path)).json["data"], {
    "client-ca-file": "NEW",
    own: "kept",
  });
  await plane.close();
});

test("the first address of a block is the one after its network", () => {
  assert.equal(firstAddress("10.96.0.0/12"), "10.96.0.1");
  assert.equal(firstAddress("fd00::/108"), "fd00::1");
});
