/** What OpenAPI keeps, and for how long. */
import assert from "node:assert/strict";
import { test } from "node:test";
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
