/** Named views at the relay's door: what they show, to whom, and when they change. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import type { PlainResponse } from "#platform/http.ts";
import { replayOf } from "#platform/replay.ts";
import { relayLimits } from "../limits.ts";
import { FakeUpstream } from "../testing/fake-upstream.ts";
import { Watching } from "../testing/relay-fixture.ts";
import { ann, filled, nobody, plain, World } from "../testing/relay-world.ts";

void describe("a named view", () => {
  void it("is lines in their order, and narrowed to a zone that has enough of them", async () => {
    const world = await filled(5);
    const all = await world.get("/views/table");
    const lines = ["0 p0 on n0;", "0 p3 on n0;", "1 p1 on n1;", "1 p4 on n1;", "2 p2 on n2;"];
    assert.equal(all.text, `${lines.join("\n")}\n`);
    assert.match(String(all.headers["content-type"]), /^text\/plain/);
    assert.equal(all.headers["x-count"], "5");
    assert.equal((await world.get("/views/table/n1")).text, "1 p1 on n1;\n1 p4 on n1;\n");
    assert.equal((await world.get("/views/table/n2")).text, all.text, "too few there");
    assert.equal((await world.get("/views/table/none")).text, all.text);
    const etag = String((await world.get("/views/table/n1")).headers["etag"]);
    world.fake.write(["ns0/p0", "2"]);
    await world.flow();
    const same = await world.get("/views/table/n1", { "if-none-match": etag });
    assert.equal(same.status, 304, "another zone's change");
    assert.equal((await world.get("/views/table/n2")).headers["x-count"], "2");
    world.fake.write(["ns1/p1", undefined]);
    await world.flow();
    assert.equal((await world.get("/views/table/n1")).headers["x-count"], "4", "too few left");
    assert.equal((await world.get("/views/table/n1?since=3")).status, 400);
    await world.stop();
  });

  void it("is chosen fields of what is selected; a change it does not show is none", async () => {
    const world = await filled(6);
    const first = await world.get("/views/fields");
    const row = (name: string, v: string): object => {
      return { namespace: "ns0", name, fields: { node: `n${v}`, none: null, all: [v] } };
    };
    assert.deepEqual(first.json.items, [row("p0", "0"), row("p4", "1")]);
    const etag = String(first.headers["etag"]);
    world.fake.write(["ns0/p0", "0"], ["ns1/p1", "1"], ["ns0/p2", "2"]);
    await world.flow();
    assert.equal((await world.get("/views/fields", { "if-none-match": etag })).status, 304);
    const since = String(first.headers["x-revision"]);
    world.fake.write(["ns0/p4", "2"], ["ns9/new", "1"]);
    await world.flow();
    const changes = await world.get(`/views/fields?since=${since}`);
    const [p0, fresh] = (changes.json.items ?? []) as readonly { name?: string }[];
    assert.deepEqual([p0?.name, fresh?.name], ["p0", "new"]);
    assert.deepEqual(changes.json.deleted, [{ namespace: "ns0", name: "p4" }]);
    await world.stop();
  });

  void it("is gzip or zstd as the client likes, with a tag of each", async () => {
    const world = await filled(5);
    const { text } = await world.get("/views/table");
    const zipped = await world.get("/views/table", { "accept-encoding": "gzip" });
    assert.equal(zipped.text, text);
    assert.match(String(zipped.headers["etag"]), /\+gzip"$/);
    const packed = await world.get("/views/table", { "accept-encoding": "gzip;q=0.5, zstd" });
    assert.equal(packed.headers["content-encoding"], "zstd");
    assert.equal(zstdDecompressSync(Buffer.concat(packed.body)).toString(), text);
    const etag = String(packed.headers["etag"]);
    assert.equal((await world.get("/views/table", { "if-none-match": etag })).status, 304);
    const date = { "if-modified-since": String(packed.headers["last-modified"]) };
    assert.equal((await world.get("/views/table", date)).status, 304);
    await world.stop();
  });

  void it("is for those who may list and watch all it selects from", async () => {
    const world = await filled(2);
    assert.equal((await world.get("/views/fields")).status, 200);
    const asked = world.reviews.map(({ resourceAttributes = {} }) => {
      const { verb, namespace, labelSelector } = resourceAttributes;
      return [verb, namespace, labelSelector];
    });
    const selector = { rawSelector: "v!=2" };
    assert.deepEqual(asked, [
      ["list", "ns0", selector],
      ["watch", "ns0", selector],
      ["list", "ns9", selector],
      ["watch", "ns9", selector],
    ]);
    world.revoked.add("eve");
    const eve = { name: "eve", groups: [] };
    assert.equal((await world.get("/views/fields", {}, eve)).status, 403);
    assert.equal((await world.get("/views/unknown")).status, 404);
    const posted = await world.relay.handler(plain("POST", "/views/fields", {}, ann));
    assert.deepEqual([posted.status, posted.headers["allow"]], [405, "GET, HEAD"]);
    await world.stop();
  });

  void it("is told 503 before the first list, and is followed from then on", async () => {
    const fake = new FakeUpstream();
    fake.down = true;
    const world = new World({}, fake);
    const early = await world.get("/views/table");
    assert.deepEqual([early.status, early.headers["retry-after"]], [503, "1"]);
    assert.match(early.text, /not yet listed v1\/pods/);
    fake.down = false;
    await world.clock.advance(60_000);
    const empty = await world.get("/views/table");
    assert.deepEqual([empty.status, empty.text, empty.headers["x-count"]], [200, "", "0"]);
    await world.stop();
  });

  void it("is streamed to browsers as it shows its objects", async () => {
    const world = await filled(1);
    const headers = { accept: "text/event-stream" };
    const answer = world.relay.handler(plain("GET", "/views/table", headers, ann));
    await world.clock.advance(0);
    const response = await answer;
    const sink = new Watching();
    if (response.kind === "stream") response.open(sink);
    world.fake.write(["ns0/p7", "1"]);
    await world.flow();
    assert.match(sink.text, /"name":"p0","text":"0 p0 on n0;\\n"/);
    assert.match(sink.text, /event: ADDED\nid: 3\ndata: {"namespace":"ns0","name":"p7"/);
    await world.stop();
  });

  void it("gives a 304 again while token, right and content last", async () => {
    const world = await filled(3);
    const ask = async (headers: Record<string, string>): Promise<PlainResponse> => {
      const answer = world.relay.handler(plain("GET", "/views/table", headers, nobody));
      await world.clock.advance(100);
      return answer;
    };
    const token = { authorization: "Bearer t1" };
    const etag = String((await ask(token)).headers["etag"]);
    const response = await ask({ ...token, "if-none-match": etag });
    const again = replayOf(response);
    assert(again !== undefined);
    const head = again();
    assert.deepEqual(head, { status: 304, headers: response.headers });
    assert.equal(again(), head, "one head for all pollers");
    await world.clock.advance(relayLimits.allowedMs);
    assert.equal(again(), undefined, "what was allowed is asked again");
    assert.equal((await ask({ ...token, "if-none-match": etag })).status, 304);
    assert.notEqual(again(), undefined, "renewed by anybody with this token");
    world.fake.write(["ns0/p0", "9"]);
    await world.flow();
    assert.equal(again(), undefined, "another content");
    const other = { ...token, "if-none-match": etag, "impersonate-user": "x" };
    const acting = await ask({ ...other, "if-none-match": "*" });
    assert.equal(replayOf(acting)?.(), undefined, "acting as another");
    await world.stop();
  });
});
