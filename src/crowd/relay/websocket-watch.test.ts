/** WATCH over WebSocket through a relay: from the mirror, as the user its token names; the rest passes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlainResponse } from "#platform/http.ts";
import { opened, webSocketHeaders } from "#server/testing/web-socket-client.ts";
import { ann, filled, nobody, plain, type World } from "./testing/relay-world.ts";

const target = "/api/v1/pods?watch=true&resourceVersion=0";
const bearer = "base64url.bearer.authorization.k8s.io.";

async function answer(
  world: World,
  path: string,
  headers: Record<string, string> = {},
  user = ann,
): Promise<PlainResponse> {
  const asked = plain("GET", path, { ...webSocketHeaders, ...headers }, user);
  const response = world.relay.handler({ ...asked, upgrade: "websocket" });
  await world.clock.advance(500);
  return await response;
}

test("a mirrored resource is watched over WebSocket, each batch made once for all", async () => {
  const world = await filled(2);
  const clients = [opened(await answer(world, target)), opened(await answer(world, target))];
  world.fake.write(["ns0/p9", "1"]);
  await world.flow();
  const [first, second] = clients;
  assert.deepEqual(
    first?.events.map(({ type }) => type),
    ["ADDED", "ADDED", "ADDED"],
  );
  assert.equal(first?.chunks.at(-1), second?.chunks.at(-1));
  assert.deepEqual(world.passed, []);
  for (const client of clients) client.leave();
  await world.stop();
});

test("a user who loses the right to read loses the WebSocket, too", async () => {
  const world = await filled(1);
  const client = opened(await answer(world, target));
  world.revoked.add("ann");
  await world.clock.advance(200_000);
  assert.deepEqual(client.messages.at(-1), { opcode: 8, payload: Buffer.of(3, 0xe8) });
  client.leave();
  await world.stop();
});

test("a token among the subprotocols names the user, and goes no further", async () => {
  const world = await filled(1);
  const protocols = `${bearer}${Buffer.from("t1").toString("base64url")}, x`;
  const headers = { "sec-websocket-protocol": protocols };
  const response = await answer(world, target, headers, nobody);
  assert.equal(response.headers["sec-websocket-protocol"], "x");
  opened(response).leave();
  assert.equal(world.reviews.at(-1)?.user, "user-of-t1");
  await answer(world, "/api/v1/secrets?watch=true", headers, nobody);
  const [passed] = world.passed;
  assert.equal(passed?.upgrade, "websocket");
  assert.equal(passed.headers["sec-websocket-protocol"], "x");
  assert.equal(passed.headers["authorization"], "Bearer relay");
  const bad = { "sec-websocket-protocol": `${bearer}${Buffer.from("t1").toString("base64url")}` };
  assert.equal((await answer(world, target, bad, nobody)).status, 401);
  await world.stop();
});

test("what is no watch, and a handshake that is none, are not the mirror's", async () => {
  const world = await filled(1);
  assert.equal((await answer(world, target, { origin: "null" })).status, 403);
  await answer(world, "/api/v1/pods");
  assert.equal(world.passed.length, 1, "the upstream knows what a list would switch to");
  await world.stop();
});
