/** Protobuf over HTTP: objects, lists, watches, Status, and refused requests. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { decodeProtobuf } from "#forms/protobuf/decode.ts";
import { readEnvelope, readFields } from "#wire/protobuf.ts";
import { ask, openPlane, request, type RunningPlane } from "./testing/plane.ts";

const type = "application/vnd.kubernetes.protobuf";
const headers = { accept: type };
const maps = "/api/v1/namespaces/default/configmaps";

async function bytesOf(
  plane: RunningPlane,
  target: string,
  accept = type,
): Promise<readonly [number, unknown, Buffer]> {
  const response = await plane.server.handler(request("GET", target, { headers: { accept } }));
  assert.equal(response.kind, "bytes");
  const body = response.kind === "bytes" ? Buffer.concat(response.body) : Buffer.alloc(0);
  return [response.status, response.headers["content-type"], body];
}

/** The object that the bytes say, kind and version included. */
function decoded(bytes: Uint8Array): AnyObject {
  const { apiVersion, kind, raw } = readEnvelope(bytes);
  const fields = decodeProtobuf({ group: "", version: apiVersion, kind }, raw);
  assert.ok(fields !== undefined, `${apiVersion} ${kind}`);
  return { apiVersion, kind, ...fields };
}

function frames(bytes: Buffer): readonly (readonly [string, AnyObject])[] {
  const events: [string, AnyObject][] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at);
    const event: [string, AnyObject] = ["", {}];
    readFields(bytes.subarray(at + 4, end), (field) => {
      if (field.number === 1) event[0] = Buffer.from(field.bytes).toString();
      else readFields(field.bytes, (raw) => (event[1] = decoded(raw.bytes)));
    });
    events.push(event);
    at = end;
  }
  return events;
}

async function withMap(f: (plane: RunningPlane, made: AnyObject) => Promise<void>): Promise<void> {
  const plane = await openPlane();
  const body = { metadata: { name: "a" }, data: { k: "v" } };
  const made = await ask(plane, "POST", maps, { body });
  try {
    await f(plane, made.json);
  } finally {
    await plane.close();
  }
}

test("an object, its list and a refusal say in protobuf what they say in JSON", () =>
  withMap(async (plane, made) => {
    const [status, media, bytes] = await bytesOf(plane, `${maps}/a`);
    assert.deepEqual([status, media], [200, type]);
    assert.deepEqual(decoded(bytes), made);
    const listed = decoded((await bytesOf(plane, maps))[2]);
    assert.equal(listed.kind, "ConfigMapList");
    const { apiVersion: _, kind: __, ...item } = made;
    assert.deepEqual(listed["items"], [item]);
    const [missing, , why] = await bytesOf(plane, `${maps}/x`);
    assert.equal(missing, 404);
    assert.equal(decoded(why)["message"], 'configmaps "x" not found');
  }));

test("a watch is frames with their lengths before them", () =>
  withMap(async (plane, made) => {
    const response = await plane.server.handler(
      request("GET", `${maps}?watch=1&allowWatchBookmarks=1`, { headers }),
    );
    assert.equal(response.kind, "stream");
    if (response.kind !== "stream") return;
    assert.equal(response.headers["content-type"], `${type};stream=watch`);
    const chunks: Uint8Array[] = [];
    const sink = {
      write: (more: readonly Uint8Array[]) => chunks.push(...more) > 0,
      onDrain() {},
      end() {},
      closed: false,
    };
    const close = response.open(sink);
    const events = frames(Buffer.concat(chunks));
    assert.deepEqual(
      events.map(([type]) => type),
      ["ADDED", "BOOKMARK"],
    );
    assert.deepEqual(events[0]?.[1], made);
    assert.equal(events[1]?.[1].kind, "ConfigMap");
    close();
  }));

test("tables have no protobuf, watches no YAML, and discovery has all three", () =>
  withMap(async (plane) => {
    const table = ";as=Table;g=meta.k8s.io;v=v1";
    const both = `${type}${table},application/json${table}`;
    assert.equal((await bytesOf(plane, maps, both))[1], "application/json");
    const [code, , refusal] = await bytesOf(plane, `${maps}?watch=1`, "application/yaml");
    assert.equal(code, 406);
    assert.match(
      refusal.toString(),
      /application\/json;stream=watch, application\/vnd\.kubernetes\.protobuf;stream=watch/,
    );
    const apps = readEnvelope((await bytesOf(plane, "/apis/apps/v1"))[2]);
    assert.equal(apps.kind, "APIResourceList");
    const metadata = `${type};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;
    const partial = readEnvelope((await bytesOf(plane, maps, metadata))[2]);
    assert.equal(partial.kind, "PartialObjectMetadataList");
  }));

/** Answers of a stock server 1.36.3, in base64. */
interface Recorded {
  readonly path: string;
  readonly accept: string;
  readonly status: number;
  readonly body: string;
}

const file = new URL("testdata/discovery-protobuf.json", import.meta.url);
const discovery = JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];

for (const { path, accept, status, body } of discovery) {
  test(`discovery in protobuf is a stock server's, byte for byte: ${accept.slice(type.length)} ${path}`, async () => {
    const plane = await openPlane();
    const [code, contentType, bytes] = await bytesOf(plane, path, accept);
    assert.equal(code, status);
    assert.equal(contentType, accept);
    assert.deepEqual(bytes.toString("base64"), body);
    await plane.close();
  });
}

test("every discovery document has a form in protobuf, and the aggregated ones in YAML", async () => {
  const plane = await openPlane();
  const groups = (await ask(plane, "GET", "/apis")).json["groups"] as {
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
  const versions = groups.flatMap((group) => group.versions.map((one) => one.groupVersion));
  for (const path of ["/api", "/apis", "/api/v1", ...versions.map((gv) => `/apis/${gv}`)]) {
    const [code, contentType] = await bytesOf(plane, path);
    assert.deepEqual([code, contentType], [200, type], path);
  }
  const aggregated = "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const [code, contentType, bytes] = await bytesOf(plane, "/api", aggregated);
  assert.deepEqual([code, contentType], [200, aggregated]);
  assert.match(bytes.toString(), /^apiVersion: apidiscovery\.k8s\.io\/v2\nitems:\n/);
  await plane.close();
});
