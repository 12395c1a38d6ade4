/** Large collections at the relay's door: nothing that looks at all of it does so in one turn of the loop. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlainResponse } from "#platform/http.ts";
import { filled, plain, ann, type World } from "../testing/relay-world.ts";

const many = 3_000;
/** As many as the fake upstream hands over at once. */
const deleted = 1_000;
const json = { accept: "application/json" };
const table = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
const protobuf = { accept: "application/vnd.kubernetes.protobuf" };

/** How often the request gave way before it was answered, and the answer. */
async function turnsOf(
  world: World,
  target: string,
  headers: Record<string, string>,
): Promise<{ readonly turns: number; readonly answer: PlainResponse }> {
  const before = world.clock.turns;
  const answer = await world.relay.handler(plain("GET", target, headers, ann));
  return { turns: world.clock.turns - before, answer };
}

void describe("a collection of 3,000 objects", () => {
  for (const [name, target, headers, turnsMin] of [
    ["a poll", "/etag/api/v1/pods", json, 12],
    ["a selected list", "/api/v1/pods?resourceVersion=0&labelSelector=v!%3D9", json, 2],
    ["a list in protobuf", "/api/v1/pods?resourceVersion=0", protobuf, 5],
    ["a table", "/api/v1/pods?resourceVersion=0", table, 10],
  ] as const) {
    void it(`is answered in turns of the loop: ${name}`, async () => {
      const world = await filled(many);
      const { turns, answer } = await turnsOf(world, target, headers);
      assert.equal(answer.status, 200);
      if (name === "a poll") assert.equal(answer.headers["x-count"], String(many), "whole");
      assert.ok(turns >= turnsMin, `${turns} turns`);
      await world.stop();
    });
  }

  void it("wakes a poll once all of a large change is in its view", async () => {
    const world = await filled(many);
    const { etag } = (await world.get("/etag/api/v1/pods", json)).headers;
    const poll = { ...json, "if-none-match": String(etag) };
    const waiting = world.relay.handler(plain("GET", "/etag/api/v1/pods?wait=30s", poll, ann));
    await world.clock.advance(0);
    for (let at = 0; at < deleted; at++) world.fake.write([`ns${at % 2}/p${at}`, undefined]);
    await world.flow();
    await world.clock.advance(100);
    const answer = await waiting;
    assert.equal(answer.kind === "bytes" && answer.headers["x-count"], String(many - deleted));
    await world.stop();
  });
});
