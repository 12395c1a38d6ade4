/**
 * Documents and rows that are made on demand: OpenAPI and discovery of 400 definitions, rows of tables for watches. And
 * watches whose selectors have 19,000 requirements each.
 */
import assert from "node:assert/strict";
import { given } from "#base/given.ts";
import { type Api, type Attack, json } from "../attack.ts";
import { atOnce, makeConfigMaps } from "./many.ts";

const definitionCount = 400;
const herd = 900;
const connections = 100;
/** A process of 400 definitions takes some 300 MB; a document of each caller's own would be gigabytes. */
const residentBytesMax = 1.2 * 2 ** 30;
const discovery = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const field = { type: "string", description: "x".repeat(200) };
const fields = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, field]));

function definition(at: number): string {
  const group = `g${at}.documents.example.com`;
  const schema = { type: "object", properties: { spec: { type: "object", properties: fields } } };
  const names = { plural: "things", singular: "thing", kind: "Thing" };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  const metadata = { name: `things.${group}` };
  return JSON.stringify({
    metadata,
    spec: { group, scope: "Namespaced", names, versions: [version] },
  });
}

/** Another one each time: what was made before is no longer current. */
let defined = 0;

async function define(plane: Api, count: number): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const first = defined;
  defined += count;
  await atOnce(count, 8, async (at) => {
    const body = (): string => definition(first + at);
    const made = await plane.send({ method: "POST", path, contentType: json, body });
    assert.ok([201, 409].includes(made.status), made.text.slice(0, 300));
  });
}

async function isGone(plane: Api, path: string): Promise<boolean> {
  return (await plane.send({ method: "GET", path })).status !== 200;
}

/** All of `definitionCount`, and one more that nobody has asked for yet. */
async function prepared(plane: Api): Promise<void> {
  await define(plane, defined === 0 ? definitionCount : 1);
  const last = `/apis/g${defined - 1}.documents.example.com/v1`;
  for (let asked = 0; await isGone(plane, last); asked++) assert.ok(asked < 2_000, "not served");
}

async function residentBytes(api: Api): Promise<number> {
  const { text } = await api.send({ method: "GET", path: "/metrics" });
  // The text is cut; without the line nothing is claimed.
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1] ?? 0);
}

function stampede(path: string, accept: string, heldMsMax?: number): Attack {
  return {
    ...given({ heldMsMax }),
    name: `${herd} at once for ${path} as ${accept.split(";")[0]}`,
    prepare: prepared,
    requests: [],
    expect: 200,
    connections,
    async converse(api) {
      let failed = 0;
      const ask = { method: "GET", path, headers: { accept } };
      await atOnce(herd, herd, async (at) => {
        const { status } = await api.send(ask);
        // 429: more than its share is made for nobody.
        if (status !== 200 && status !== 429) failed++;
        if (at % connections === 0) assert.ok((await residentBytes(api)) < residentBytesMax);
      });
      return failed === 0 ? 200 : 500;
    },
  };
}

const rows = "/api/v1/namespaces/rows/configmaps";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** They end by themselves. */
function watches(
  name: string,
  target: "plane" | "relay",
  count: number,
  path: (at: number) => string,
  { accept, ...bound }: { readonly accept: string; readonly heldMsMax?: number },
): Attack {
  return {
    ...bound,
    name,
    target,
    prepare: (plane) => makeConfigMaps(plane, "rows", 600),
    requests: [],
    expect: 200,
    connections: count + 4,
    async converse(api) {
      let open = count;
      const statuses = new Set<number>();
      const all = atOnce(count, count, async (at) => {
        const { status } = await api.send({ method: "GET", path: path(at), headers: { accept } });
        statuses.add(status);
        open--;
      });
      const event = { method: "POST", path: rows, contentType: json };
      const body = (): string => JSON.stringify({ metadata: { generateName: "event-" } });
      while (open > 0) assert.equal((await api.send({ ...event, body })).status, 201);
      await all;
      statuses.delete(429);
      return statuses.size === 1 && statuses.has(200) ? 200 : 500;
    },
  };
}

const requirements = Array.from({ length: 19_000 }, () => "!a").join(",");
const selective = (at: number): string =>
  `${rows}?watch=1&timeoutSeconds=6&resourceVersion=0&labelSelector=!a${at},${requirements}`;
const ofTables = (): string => `${rows}?watch=1&timeoutSeconds=3`;

export const documentAttacks: readonly Attack[] = [
  // Its 15 MB are joined, hashed and handed to sockets: 72 ms were measured on two cores that many shared.
  stampede("/openapi/v2", "application/json", 150),
  stampede("/openapi/v3", "application/json"),
  stampede("/apis", `application/json;${discovery}`),
  stampede("/apis", `application/vnd.kubernetes.protobuf;${discovery}`),
  watches("100 watches of 600 objects as tables", "plane", 100, ofTables, { accept: table }),
  watches("the same of a relay", "relay", 100, ofTables, { accept: table }),
  // A selector of 57 KB is read in one turn: 42 ms on the plane and 118 on the relay were measured on two busy cores.
  watches("100 watches with 19,000 requirements each", "plane", 100, selective, {
    accept: json,
    heldMsMax: 150,
  }),
  watches("the same of a relay", "relay", 100, selective, { accept: json, heldMsMax: 300 }),
];
