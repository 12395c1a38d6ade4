/** The documents that tell of everything: made once however many ask, in turns of the loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { ResourceCatalog } from "./catalog.ts";
import { noDelegates } from "./delegates.ts";
import { openPlane, type Plane, request } from "./testing/plane.ts";

const groupCount = 400;

function row(at: number): ResourceInfo {
  const storage = { group: `g${at}.example.com`, version: "v1", resource: "things" };
  return {
    ...storage,
    singular: "thing",
    kind: "Thing",
    namespaced: true,
    verbs: ["get", "list"],
    shortNames: [],
    categories: [],
    subresources: [],
    storage,
  };
}

interface World {
  readonly plane: Plane;
  readonly catalog: ResourceCatalog;
  readonly rows: ResourceInfo[];
}

async function openWorld(): Promise<World> {
  const rows = Array.from({ length: groupCount }, (_, at) => row(at));
  const catalogs: ResourceCatalog[] = [];
  const plane = await openPlane({
    delegates: ({ catalog }) => {
      catalog.serveCustom({
        find: () => undefined,
        infos: () => rows,
        definitions: () => [],
        counts: () => [],
      });
      catalogs.push(catalog);
      return noDelegates;
    },
  });
  const [catalog] = catalogs;
  assert.ok(catalog);
  return { plane, catalog, rows };
}

const form = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async function ask({ plane }: World, type: string): Promise<Uint8Array> {
  const headers = { accept: `${type};${form}` };
  const response = await plane.server.handler(request("GET", "/apis", { headers }));
  assert.ok(response.kind === "bytes" && response.status === 200);
  const [body] = response.body;
  assert.ok(body);
  return body;
}

test("a herd gets one document, which was made in turns", async () => {
  const world = await openWorld();
  for (const type of ["application/json", "application/vnd.kubernetes.protobuf"]) {
    const { turns } = world.plane.clock;
    const bodies = await Promise.all(Array.from({ length: 100 }, () => ask(world, type)));
    assert.equal(new Set(bodies).size, 1, type);
    const taken = world.plane.clock.turns - turns;
    assert.ok(taken >= groupCount / 16 && taken <= groupCount, `${taken} turns for ${type}`);
  }
  await world.plane.close();
});

test("who asks after a change gets no document from before it, though one is being made", async () => {
  const world = await openWorld();
  const before = ask(world, "application/json");
  await Promise.resolve();
  world.rows.push(row(groupCount));
  world.catalog.changed();
  const after = await ask(world, "application/json");
  assert.match(Buffer.from(after).toString(), new RegExp(`"g${groupCount}.example.com"`));
  await before;
  await world.plane.close();
});
