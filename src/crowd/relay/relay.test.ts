/** The relay as a whole: authorization, and its own pages. The upstream and its reviews are fakes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ann, filled, nobody, plain, World } from "./testing/relay-world.ts";

void describe("who may read", () => {
  void it("is the upstream's decision, asked once per user and place, selectors included", async () => {
    const world = await filled(1);
    for (let at = 0; at < 5; at++) {
      await world.get("/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn0");
    }
    assert.equal(world.reviews.length, 1);
    assert.deepEqual(world.reviews[0]?.resourceAttributes?.["fieldSelector"], {
      rawSelector: "spec.nodeName=n0",
    });
    const bearer = { authorization: "Bearer t1" };
    assert.equal((await world.get("/api/v1/pods?resourceVersion=0", bearer, nobody)).status, 200);
    assert.equal(world.reviews.at(-1)?.user, "user-of-t1");
    const bad = { authorization: "Bearer bad" };
    assert.equal((await world.get("/api/v1/pods?resourceVersion=0", bad, nobody)).status, 401);
    world.revoked.add("system:anonymous");
    assert.equal((await world.get("/api/v1/pods?resourceVersion=0", {}, nobody)).status, 403);
    await world.stop();
  });

  void it("may be asked about for somebody else only by who may impersonate", async () => {
    const world = await filled(1);
    world.revoked.add("bob");
    const asBob = { "impersonate-user": "bob" };
    const refused = await world.get("/api/v1/pods?resourceVersion=0", asBob);
    assert.match(refused.json.message ?? "", /User "bob" cannot list resource "pods"/);
    const asked = world.reviews.find(
      (review) => review.resourceAttributes?.["verb"] === "impersonate",
    );
    assert.deepEqual([asked?.user, asked?.resourceAttributes?.["name"]], ["ann", "bob"]);
    world.revoked.add("ann");
    await world.clock.advance(20_000);
    const text = (await world.get("/api/v1/pods", asBob)).json.message;
    assert.match(text ?? "", /User "ann" cannot impersonate resource "users"/);
    await world.stop();
  });
});

void describe("the relay itself", () => {
  void it("is ready after the first lists, shows its metrics to who may, and drains", async () => {
    const world = new World();
    assert.equal((await world.relay.handler(plain("GET", "/relay/readyz", {}, ann))).status, 503);
    await world.clock.advance(1);
    assert.equal((await world.get("/relay/readyz")).status, 200);
    const streams = [];
    for (let at = 0; at < 10; at++)
      streams.push(await world.watch("/api/v1/pods?watch=true&resourceVersion=0"));
    const { text } = await world.get("/relay/metrics");
    assert.match(text, /^relay_upstream_watches\{resource="v1\/pods"\} 1$/m);
    assert.match(text, /^relay_watchers\{resource="v1\/pods"\} 12$/m, "streams and views");
    const drained = world.relay.drain(1_000);
    await world.clock.advance(450);
    const ended = streams.filter((stream) => stream.ended).length;
    assert.ok(ended > 2 && ended < 8, `${ended} of 10 ended half way`);
    await world.clock.advance(1_000);
    await drained;
    assert.equal(
      streams.every((stream) => stream.ended),
      true,
    );
    assert.equal((await world.get("/api/v1/pods?watch=true&resourceVersion=0")).status, 429);
    assert.equal((await world.get("/relay/readyz")).status, 503);
    await world.stop();
  });
});
