/** The ETag frontend at the relay's door: 304s, differences, streams to browsers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Watching } from "../testing/relay-fixture.ts";
import { ann, bodyOf, filled, names, plain } from "../testing/relay-world.ts";

void describe("the ETag frontend", () => {
  const path = "/etag/api/v1/pods";

  void it("answers 304 until the content changes, and again when it comes back", async () => {
    const world = await filled(3);
    const first = await world.get(path);
    const etag = String(first.headers["etag"]);
    assert.equal(first.headers["x-count"], "3");
    assert.equal((await world.get(path, { "if-none-match": etag })).status, 304);
    const zipped = { "if-none-match": etag, "accept-encoding": "gzip" };
    assert.equal((await world.get(path, zipped)).status, 304, "either encoding's tag is known");
    world.fake.skip();
    await world.flow();
    assert.equal(
      (await world.get(path, { "if-none-match": etag })).status,
      304,
      "a position is no content",
    );
    world.fake.write(["ns0/extra", "1"]);
    await world.flow();
    assert.equal((await world.get(path, { "if-none-match": etag })).status, 200);
    world.fake.write(["ns0/extra", undefined]);
    await world.flow();
    assert.equal((await world.get(path, { "if-none-match": etag })).status, 304);
    for (const key of world.fake.state().keys()) world.fake.write([key, undefined]);
    await world.flow();
    const empty = await world.get(path, { "if-none-match": etag });
    assert.deepEqual([empty.status, empty.headers["x-count"], names(empty)], [200, "0", []]);
    await world.stop();
  });

  void it("tells only what changed since a position, and waits for it when asked to", async () => {
    const world = await filled(3);
    const first = await world.get(path);
    const since = String(first.headers["x-revision"]);
    const waiting = world.relay.handler(plain("GET", `${path}?since=${since}&wait=30s`, {}, ann));
    world.fake.write(["ns0/p0", "8"], ["ns1/p1", undefined]);
    await world.flow();
    const changes = await bodyOf(await waiting);
    assert.deepEqual(names(changes), ["p0"]);
    assert.deepEqual(changes.json.deleted, [{ namespace: "ns1", name: "p1" }]);
    const etag = String((await world.get(path)).headers["etag"]);
    const poll = world.relay.handler(
      plain("GET", `${path}?wait=5s`, { "if-none-match": etag }, ann),
    );
    await world.clock.advance(5_001);
    assert.equal((await poll).status, 304);
    assert.equal((await world.get(`${path}?since=1`)).status, 410);
    await world.stop();
  });

  void it("streams to browsers, with positions to resume from", async () => {
    const world = await filled(1);
    const answer = world.relay.handler(plain("GET", path, { accept: "text/event-stream" }, ann));
    await world.clock.advance(0);
    const response = await answer;
    const sink = new Watching();
    if (response.kind === "stream") response.open(sink);
    world.fake.write(["ns0/p7", "1"]);
    await world.flow();
    const heads = sink.text.match(/^(event|id): .*$/gm);
    assert.deepEqual(heads, ["event: ADDED", "event: BOOKMARK", "id: 2", "event: ADDED", "id: 3"]);
    await world.stop();
  });
});
