/**
 * What clients and the upstream send a relay: whole collections in every form, selections, polls, views of a
 * collection nobody asked for before, lists of its own to an upstream, crowds, large objects as events.
 */
import { type Attack, type AttackRequest, json, partsMax, protobuf } from "../attack.ts";
import { atOnce, makeConfigMaps } from "./many.ts";

const many = 20_000;
const configMaps = "/api/v1/namespaces/relayed/configmaps";
const all = "/api/v1/configmaps";
const tableType = "application/json;as=Table;g=meta.k8s.io;v=v1";
const metadataType = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/** Selects all, and names what is in the object: each is to be read. */
const labels = "labelSelector=app%20notin%20(a1%2Ca2)%2Ctier";
const initialEvents =
  "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2";

type Headers = Readonly<Record<string, string>>;

function reads(name: string, path: string, headers: Headers = {}, expect = 200): Attack {
  return { name, target: "relay", requests: [{ method: "GET", path, headers }], expect };
}

function lists(name: string, query: string, accept: string, path = configMaps): Attack {
  return reads(`${many} objects through the relay as ${name}`, `${path}?${query}`, { accept });
}

/** The changes of many objects since the first poll, as one answer. */
const changes: Attack = {
  name: "a poll of 10,000 changes",
  target: "relay",
  requests: [],
  connections: 16,
  expect: 200,
  async converse(api) {
    const poll = { method: "GET", path: `/etag${configMaps}` };
    const { headers } = await api.send(poll);
    const path = `${poll.path}?since=${String(headers["x-revision"])}&wait=5s`;
    await atOnce(10_000, 16, (at) => {
      const body = (): string => JSON.stringify({ metadata: { labels: { tier: `y${at}` } } });
      const contentType = "application/merge-patch+json";
      return api.send({ method: "PATCH", path: `${configMaps}/o${at}`, contentType, body });
    });
    return (await api.send({ method: "GET", path })).status;
  },
};

function largeBody(name: string): string {
  return JSON.stringify({ metadata: { name }, data: { key: "x".repeat(1_000_000) } });
}

function deepBody(name: string): string {
  const items = `${"[".repeat(400)}${"]".repeat(400)}`;
  const count = Math.floor(partsMax / 801) - 1;
  const data = `{"x":[${Array.from({ length: count }, () => items).join(",")}]}`;
  return `{"metadata":{"name":"${name}"},"revision":1,"data":${data}}`;
}

function posts(name: string, path: string, body: () => string, then: string): Attack {
  const read: AttackRequest = { method: "GET", path: then };
  const post: AttackRequest = { method: "POST", path, contentType: json, body };
  return { name, target: "relay", requests: [post, read], expect: [200, 201] };
}

/** `count` at once; the status of the worst. */
function crowd(name: string, count: number, request: (at: number) => AttackRequest): Attack {
  return {
    name,
    target: "relay",
    requests: [],
    connections: 32,
    expect: 200,
    async converse(api) {
      const asked = Array.from({ length: count }, (_, at) => api.send(request(at)));
      return Math.max(...(await Promise.all(asked)).map(({ status }) => status));
    },
  };
}

const controllerRevisions = "/apis/apps/v1/namespaces/default/controllerrevisions";

export const relayAttacks: readonly Attack[] = [
  {
    ...reads(
      "a label selector of 60 KB through the relay",
      `/api/v1/pods?labelSelector=${Array.from({ length: 6000 }, (_, i) => `a${i}`).join("%2C")}`,
    ),
    expect: [200, 400, 414, 431],
  },
  {
    ...lists("a selected list, never asked before", `${labels}&resourceVersion=0`, json),
    prepare: (plane) => makeConfigMaps(plane, "relayed", many),
  },
  lists("a list by field, never asked before", "fieldSelector=metadata.name%21%3Do1", json, all),
  lists("JSON", "resourceVersion=0", json),
  lists("JSON that must be the newest", "", json),
  lists("JSON of all namespaces", "resourceVersion=0", json, all),
  lists("protobuf", "resourceVersion=0", protobuf),
  lists("a table", "resourceVersion=0", tableType),
  lists("a table of whole objects", "resourceVersion=0&includeObject=Object", tableType),
  lists("a selected table", `resourceVersion=0&${labels}`, tableType),
  lists("metadata", "resourceVersion=0", metadataType),
  lists(
    "metadata in protobuf",
    "resourceVersion=0",
    `${protobuf};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`,
  ),
  lists("YAML", "", "application/yaml"),
  lists("indented JSON", "pretty=true", json),
  lists("a page of all but one", `limit=${many - 1}&resourceVersion=0`, json),
  lists("a selected page", `limit=${many - 1}&${labels}`, json),
  reads(`${many} objects through the relay, compressed`, `${configMaps}?resourceVersion=0`, {
    "accept-encoding": "gzip",
  }),
  reads(`a selection through the relay, compressed`, `${configMaps}?resourceVersion=0&${labels}`, {
    "accept-encoding": "gzip",
  }),
  lists("a watch with initial events", initialEvents, json),
  lists("a watch of a selection", `${initialEvents}&${labels}`, json),
  lists("a watch of tables with initial events", initialEvents, tableType),
  lists("a watch of protobuf with initial events", initialEvents, protobuf),
  lists("a watch with checksums, never asked before", `${initialEvents}&viewChecksums=true`, json),
  lists(
    "a watch of a selection with checksums",
    `${initialEvents}&viewChecksums=true&${labels}`,
    json,
  ),
  reads("a poll of a collection, never asked before", `/etag${configMaps}`),
  reads("a poll of all namespaces, compressed", `/etag${all}`, { "accept-encoding": "gzip" }),
  reads("a poll of a selection, never asked before", `/etag${configMaps}?${labels}`),
  reads("a poll in zstd", `/etag${configMaps}`, { "accept-encoding": "zstd" }),
  reads("a poll with a long If-None-Match", `/etag${configMaps}`, {
    "if-none-match": Array.from({ length: 1_000 }, (_, at) => `"${at}"`).join(", "),
  }),
  changes,
  reads("a poll of a resource with a path of 8 KB", `/etag${"/x".repeat(4_000)}`, {}, 404),
  reads("20,000 parameters", `${configMaps}?resourceVersion=0&${"a=1&".repeat(15_000)}`),
  posts(
    "a ConfigMap of 1 MB as an event",
    "/api/v1/namespaces/default/configmaps",
    () => largeBody("large-event"),
    "/api/v1/namespaces/default/configmaps/large-event?resourceVersion=0",
  ),
  posts(
    "a deep ControllerRevision as an event",
    controllerRevisions,
    () => deepBody("deep-event"),
    `${controllerRevisions}?${labels}`,
  ),
  crowd("100 lists of everything at once", 100, () => ({
    method: "GET",
    path: `${all}?resourceVersion=0&limit=500`,
  })),
  crowd("150 selections at once", 150, (at) => ({
    method: "GET",
    path: `${configMaps}?resourceVersion=0&labelSelector=app%3Da${at}`,
  })),
  crowd("32 polls of different selections at once", 32, (at) => ({
    method: "GET",
    path: `/etag${configMaps}?labelSelector=app%21%3Da${at}`,
  })),
  crowd("100 watches of one object each", 100, (at) => ({
    method: "GET",
    path: `${configMaps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Do${at}`,
  })),
  crowd("300 requests for OpenAPI version 2 at once", 300, () => ({
    method: "GET",
    path: "/openapi/v2",
    headers: { accept: json },
  })),
  crowd("500 users acted for", 500, (at) => ({
    method: "GET",
    path: "/api/v1/namespaces/default/configmaps?resourceVersion=0",
    headers: { "impersonate-user": `user-${at}`, "impersonate-group": "system:masters" },
  })),
  reads("the relay's metrics", "/relay/metrics"),
  {
    name: "the deletion of the mirrored collection",
    target: "relay",
    requests: [{ method: "DELETE", path: configMaps }],
    expect: 200,
  },
];
