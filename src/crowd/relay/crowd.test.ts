/** Many at once at the relay's door: whole states by bytes, and streams that move elsewhere. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlainResponse } from "#platform/http.ts";
import { FakeUpstream } from "./testing/fake-upstream.ts";
import { Watching } from "./testing/relay-fixture.ts";
import { ann, plain, World } from "./testing/relay-world.ts";

void describe("a crowd", () => {
  const limits = { largeBytesInFlightMax: 10_000, largeAnswerBytesMin: 1_000 };
  const list = "/api/v1/pods?resourceVersion=0";
  const watch = `${list}&watch=true`;

  async function crowded(): Promise<World> {
    const fake = new FakeUpstream();
    for (let at = 0; at < 20; at++) fake.write([`a/pod-${at}`, "x".repeat(100)]);
    const world = new World(limits, fake);
    await world.clock.advance(100);
    return world;
  }

  function ask(world: World, target: string): Promise<PlainResponse> {
    return world.relay.handler(plain("GET", target, {}, ann));
  }

  void it("shares one list, enters by bytes, and is told when to come again", async () => {
    const world = await crowded();
    const first = await ask(world, list);
    assert.ok(first.kind === "bytes" && first.status === 200);
    const size = first.body.reduce((sum, chunk) => sum + chunk.length, 0);
    assert.ok(size > 5_000 && size < 10_000, `one fits, two do not: ${size}`);
    const second = await ask(world, list);
    assert.equal(second.status, 429);
    assert.match(String(second.headers["retry-after"]), /^[1-9][0-9]*$/);
    first.left?.();
    assert.equal((await ask(world, list)).status, 200);
    assert.match((await world.get("/relay/metrics")).text, /^relay_bodies_made_total\{.*\} 1$/m);
    await world.stop();
  });

  void it("of watches from the whole state counts each until it has it", async () => {
    const world = await crowded();
    const response = await ask(world, watch);
    assert.equal((await ask(world, watch)).status, 429, "the first is not even open");
    const watching = new Watching();
    assert.ok(response.kind === "stream");
    response.open(watching);
    assert.equal(watching.lines.length, 20);
    const next = await ask(world, watch);
    assert.ok(next.kind === "stream", "the first has the state");
    next.open(new Watching())();
    assert.equal((await ask(world, watch)).status, 200, "the second has gone");
    await world.stop();
  });

  void it("of watches that resume, or want one node's pods, is not held up", async () => {
    const world = await crowded();
    await ask(world, watch);
    assert.equal((await ask(world, `${watch}&fieldSelector=spec.nodeName%3Dn`)).status, 200);
    const { revision } = world.fake;
    assert.equal(
      (await ask(world, `/api/v1/pods?watch=true&resourceVersion=${revision}`)).status,
      200,
    );
    await world.stop();
  });

  void it("too large for its relay moves to one with less, told all there is, by a new connection", async () => {
    const world = new World({}, new FakeUpstream(), () => Promise.resolve([0]));
    await world.clock.advance(100);
    const crowd: Watching[] = [];
    for (let at = 0; at < 200; at++)
      crowd.push(await world.watch(`${watch}&allowWatchBookmarks=true`));
    world.fake.write(["a/pod", "x"]);
    await world.flow();
    await world.clock.advance(60_000);
    assert.equal(crowd.filter(({ left }) => left).length, 0, "not before the excess has lasted");
    await world.clock.advance(20_000);
    const moved = crowd.filter(({ left }) => left);
    assert.ok(moved.length > 0 && moved.length <= 40, String(moved.length));
    for (const { lines } of moved) assert.match(lines.at(-1) ?? "", /@2$/, "told all");
    assert.equal((await world.get("/relay/load")).text, `${200 - moved.length}\n`);
    await world.stop();
  });
});
