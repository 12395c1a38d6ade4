/** The aggregator in a whole API server on virtual time: conditions, local APIServices, discovery. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { ServedKind } from "#apiserver/kind.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import { ask, openPlane, type Plane } from "#apiserver/testing/plane.ts";
import { must } from "#base/assert.ts";
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Aggregator } from "./aggregator.ts";
import { aggregationLimits } from "./limits.ts";
import { endpointResolver } from "./service-resolver.ts";
import { apiService, fakeTransport, type FakeTransport, service, slice } from "./testing.ts";

const path = "/apis/apiregistration.k8s.io/v1/apiservices";
const mine = `${path}/v1.some.example.com`;

interface World {
  readonly plane: Plane;
  readonly catalog: ResourceCatalog;
  readonly aggregator: Aggregator;
  readonly transport: FakeTransport;
}

async function withWorld(f: (world: World) => Promise<void>): Promise<void> {
  const transport = fakeTransport();
  transport.answer = () => ({ status: 200, body: '{"resources":[]}' });
  const made: { aggregator?: Aggregator } = {};
  const plane = await openPlane({
    delegates: ({ catalog, lookup, metrics, clock }) => {
      const resolve = endpointResolver(lookup, new FakeRandom(1));
      const makeTransport = () => transport;
      const deps = { catalog, lookup, metrics, clock, log: silentLog, resolve, makeTransport };
      const streams = { openMax: 10, openPerHostMax: 10 };
      made.aggregator = new Aggregator(deps, { limits: aggregationLimits, streams });
      return made.aggregator;
    },
  });
  const aggregator = must(made.aggregator, "a server asks for its delegates");
  try {
    await aggregator.start();
    await f({ plane, catalog: plane.server.catalog, aggregator, transport });
  } finally {
    await aggregator.close();
    await plane.close();
  }
}

async function registered({ plane }: World): Promise<void> {
  const services = "/api/v1/namespaces/ns/services";
  const spec = { ...(service()["spec"] as object), clusterIP: "10.96.7.7" };
  await ask(plane, "POST", services, { body: { ...service(), spec } });
  const slices = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices";
  await ask(plane, "POST", slices, { body: slice() });
  const answer = await ask(plane, "POST", path, { body: apiService() });
  assert.equal(answer.status, 201, answer.text);
  await plane.clock.advance(0);
}

interface Shown {
  readonly metadata: { readonly resourceVersion: string };
  readonly status: { readonly conditions: readonly { readonly [field: string]: string }[] };
}

async function shown({ plane }: World): Promise<Shown> {
  return (await ask(plane, "GET", mine)).json as unknown as Shown;
}

describe("a remote APIService", () => {
  test("is checked at once and every 30 seconds, and written only when its condition differs", () =>
    withWorld(async (world) => {
      const { plane, transport } = world;
      await registered(world);
      const first = await shown(world);
      assert.deepEqual(first.status.conditions, [
        {
          type: "Available",
          status: "True",
          lastTransitionTime: "2026-01-01T00:00:00Z",
          reason: "Passed",
          message: "all checks passed",
        },
      ]);
      const probes = (): number =>
        transport.sent.filter(({ request }) => request.target === "/apis/some.example.com/v1")
          .length;
      const before = probes();
      await plane.clock.advance(29_000);
      assert.equal(probes(), before);
      await plane.clock.advance(1_000);
      assert.equal(probes(), before + 5);
      assert.equal((await shown(world)).metadata.resourceVersion, first.metadata.resourceVersion);
      transport.answer = () => "refused";
      await plane.clock.advance(30_000);
      const [away] = (await shown(world)).status.conditions;
      assert.equal(away?.["reason"], "FailedDiscoveryCheck");
      assert.equal(away?.["lastTransitionTime"], "2026-01-01T00:01:00Z");
      const page = plane.metrics.text();
      assert.match(page, /aggregator_unavailable_apiservice\{name="v1\.some\.example\.com"\} 1/);
      assert.match(
        page,
        /aggregator_unavailable_apiservice_total\{name="v1\.some\.example\.com",reason="FailedDiscoveryCheck"\} 1/,
      );
      assert.match(page, /aggregator_unavailable_apiservice\{name="v1\.apps"\} 0/);
    }));

  test("is checked again when its endpoints change", () =>
    withWorld(async (world) => {
      const { plane } = world;
      await registered(world);
      const slices = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices/api-1";
      await ask(plane, "DELETE", slices);
      await plane.clock.advance(0);
      assert.equal((await shown(world)).status.conditions[0]?.["reason"], "EndpointsNotFound");
      assert.equal((await ask(plane, "GET", "/apis/some.example.com/v1/things")).status, 503);
    }));

  test("that becomes local is local: its condition, its path", () =>
    withWorld(async (world) => {
      const { plane } = world;
      await registered(world);
      const spec = { service: null, insecureSkipTLSVerify: null };
      await ask(plane, "PATCH", mine, { body: { spec }, type: "application/merge-patch+json" });
      await plane.clock.advance(0);
      assert.equal((await shown(world)).status.conditions[0]?.["reason"], "Local");
      assert.equal((await ask(plane, "GET", "/apis/some.example.com/v1/things")).status, 404);
    }));

  test("comes in discovery where its priorities put it", () =>
    withWorld(async (world) => {
      await registered(world);
      const groups = (await ask(world.plane, "GET", "/apis")).json["groups"] as { name: string }[];
      assert.equal(groups[0]?.name, "apiregistration.k8s.io");
      assert.equal(groups.at(-1)?.name, "some.example.com");
      const list = (await ask(world.plane, "GET", "/apis/some.example.com")).json;
      assert.equal(list["name"], "some.example.com");
    }));
});

describe("a custom kind", () => {
  const names = ({ catalog }: World): readonly string[] =>
    must(catalog.find("apiregistration.k8s.io", "v1", "apiservices")?.store, "it is built in")
      .peekList("")
      .map(({ name }) => name);

  test("has an APIService for as long as it is served", () =>
    withWorld(async (world) => {
      const { plane, catalog } = world;
      const like = must(catalog.find("", "v1", "configmaps"), "it is built in");
      const group = "stable.example.com";
      const resource = { ...like.resource, group, resource: "crontabs" };
      const name = "v1.stable.example.com";
      const kinds: ServedKind[] = [{ ...like, resource }];
      catalog.serveCustom({
        find: () => undefined,
        infos: () => kinds.map((kind) => kind.resource),
        definitions: () => [],
        counts: () => [],
      });
      catalog.changed();
      await plane.clock.advance(0);
      const object = (await ask(plane, "GET", `${path}/${name}`)).json as AnyObject;
      assert.deepEqual(object.metadata?.labels, {
        "kube-aggregator.kubernetes.io/automanaged": "true",
      });
      assert.deepEqual(object["spec"], {
        group,
        version: "v1",
        groupPriorityMinimum: 1000,
        versionPriority: 100,
      });
      const { conditions } = object["status"] as unknown as Shown["status"];
      assert.equal(conditions[0]?.["reason"], "Local");
      await ask(plane, "DELETE", `${path}/${name}`);
      await plane.clock.advance(0);
      assert.ok(names(world).includes(name), "it comes back");
      kinds.pop();
      catalog.changed();
      await plane.clock.advance(0);
      assert.ok(!names(world).includes(name));
    }));

  test("a built-in APIService that somebody deletes stays away until the next start, as upstream", () =>
    withWorld(async (world) => {
      assert.ok(names(world).includes("v1.apps"));
      await ask(world.plane, "DELETE", `${path}/v1.apps`);
      await world.plane.clock.advance(0);
      assert.ok(!names(world).includes("v1.apps"));
    }));
});
