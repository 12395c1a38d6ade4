/** What OpenAPI keeps, and for how long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#api/object.ts";
import { readOpenapiV3 } from "./openapi/testing/proto-v3-reader.ts";
import { openPlane, type Plane, request } from "./testing/plane.ts";

const minuteMs = 60_000;

async function bodyOf({ server }: Plane, path: string): Promise<Uint8Array | undefined> {
  const response = await server.handler(request("GET", path));
  assert.equal(response.kind, "bytes");
  assert.equal(response.status, 200);
  return response.kind === "bytes" ? response.body[0] : undefined;
}

test("documents that nobody asks for are let go of after five minutes, and are made again as they were", async () => {
  const plane = await openPlane();
  const paths = ["/openapi/v2", "/openapi/v3/apis/apps/v1"];
  const first = await Promise.all(paths.map((path) => bodyOf(plane, path)));
  const index = await bodyOf(plane, "/openapi/v3");
  for (let minute = 0; minute < 9; minute += 3) {
    await plane.clock.advance(3 * minuteMs);
    for (const [at, path] of paths.entries()) assert.equal(await bodyOf(plane, path), first[at]);
  }
  await plane.clock.advance(6 * minuteMs);
  for (const [at, path] of paths.entries()) {
    const again = await bodyOf(plane, path);
    assert.notEqual(again, first[at]);
    assert.deepEqual(again, first[at]);
  }
  assert.equal(await bodyOf(plane, "/openapi/v3"), index);
  await plane.close();
});

const v3Protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

test("a version 3 document is JSON or protobuf as asked, under one hash, and a wrong hash leads to the right one", async () => {
  const plane = await openPlane();
  const ask = async (path: string, accept: string) => {
    const response = await plane.server.handler(request("GET", path, { headers: { accept } }));
    assert.ok(response.kind === "bytes");
    return { ...response, bytes: Buffer.concat(response.body) };
  };
  const path = "/openapi/v3/apis/coordination.k8s.io/v1";
  const inJson = await ask(path, "application/json");
  const etag = String(inJson.headers["etag"]);
  const document = JSON.parse(inJson.bytes.toString()) as JsonObject;
  // Kubectl's, and the spelling of older ones, which is no media type.
  for (const accept of [v3Protobuf, v3Protobuf.replace("v3.v1", "v3@v1")]) {
    const inProtobuf = await ask(`${path}?hash=${etag.slice(1, -1)}`, accept);
    assert.equal(inProtobuf.status, 200);
    assert.equal(inProtobuf.headers["content-type"], v3Protobuf);
    assert.equal(inProtobuf.headers["etag"], etag);
    assert.equal(inProtobuf.headers["cache-control"], "public, immutable");
    const back = readOpenapiV3(inProtobuf.bytes);
    assert.deepEqual(Object.keys(back["paths"] ?? {}), Object.keys(document["paths"] ?? {}));
  }
  const moved = await ask(`${path}?hash=AB`, v3Protobuf);
  assert.equal(moved.status, 301);
  assert.equal(moved.headers["location"], `${path}?hash=${etag.slice(1, -1)}`);
  assert.equal((await ask("/openapi/v3/apis/none/v1", v3Protobuf)).status, 404);
  await plane.close();
});
