/** Shadow mode: differences are found and logged by name; the client never waits, the upstream is not flooded. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { ByteRequest } from "#platform/byte-transport.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { FakeHttpServer, jsonAnswer } from "#platform/testing/http-server.ts";
import { Shadow } from "./shadow.ts";

const user = { name: "ann", groups: ["team"] };

function object(name: string, data = "1"): object {
  return { metadata: { name, namespace: "a", resourceVersion: "7" }, data };
}

function list(items: readonly object[], resourceVersion = "9"): object {
  return { kind: "List", metadata: { resourceVersion }, items };
}

function answer(body: object, headers: Record<string, string> = {}): PlainResponse {
  const bytes = Buffer.from(JSON.stringify(body));
  const packed = headers["content-encoding"] === "gzip" ? gzipSync(bytes) : bytes;
  const all = { "content-type": "application/json", ...headers };
  return { kind: "bytes", status: 200, headers: all, body: [packed] };
}

/** An upstream that gives one answer to every request, on command. */
class World {
  readonly asked: readonly ByteRequest[];
  readonly told: unknown[] = [];
  readonly shadow: Shadow;
  readonly looked = new MetricSet().counter("looked", "", ["resource", "outcome"]);
  held: Promise<void> = Promise.resolve();

  constructor(theirs: object | "away" | "gone", options: { rate?: number } = {}) {
    const http = new FakeHttpServer(async () => {
      await this.held;
      if (theirs === "away") throw new Error("refused");
      return jsonAnswer(theirs === "gone" ? 410 : 200, JSON.stringify(theirs));
    });
    this.asked = http.requests;
    const log = { warn: (_: string, fields: unknown) => this.told.push(fields), debug() {} };
    const headers = (): Record<string, string> => ({ authorization: "Bearer relay" });
    this.shadow = new Shadow(
      { http, headers, random: new FakeRandom(1), log: log as unknown as Log, looked: this.looked },
      { rate: options.rate ?? 1, shadowsMax: 2, shadowBytesMax: 10_000 },
    );
  }

  count(outcome: string): number {
    return this.looked.value(["v1/things", outcome]);
  }
}

function read(
  verb = "list",
  query = "labelSelector=l&resourceVersion=0",
): Parameters<Shadow["look"]>[0] {
  const request = { path: "/api/v1/things", headers: {} } as unknown as PlainRequest;
  return { resource: "v1/things", verb, request, query: new URLSearchParams(query), caller: user };
}

void describe("shadow mode", () => {
  void it("asks the same question at the same moment, as the same user, and finds equal what is equal", async () => {
    const world = new World(list([object("x")]));
    await world.shadow.look(read(), answer(list([object("x")]), { "content-encoding": "gzip" }));
    assert.equal(world.count("equal"), 1);
    const [{ target, headers }] = world.asked as [ByteRequest];
    const url = new URL(target, "http://x");
    assert.equal(url.pathname, "/api/v1/things");
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      labelSelector: "l",
      resourceVersion: "9",
      resourceVersionMatch: "Exact",
    });
    assert.equal(headers["impersonate-user"], "ann");
  });

  void it("tells by name, and without contents, what is missing, too much, or different", async () => {
    const world = new World(list([object("both", "secret-1"), object("theirs")]));
    await world.shadow.look(read(), answer(list([object("both", "secret-2"), object("ours")])));
    assert.equal(world.count("different"), 1);
    const told = JSON.stringify(world.told);
    assert.match(told, /"missing":\["a\/theirs"\],"extra":\["a\/ours"\],"changed":\["a\/both"\]/);
    assert.doesNotMatch(told, /secret/);
  });

  void it("does not call a difference what it cannot know", async () => {
    const ours = answer(list([object("x")]));
    for (const theirs of ["away", "gone", list([], "10")] as const) {
      const world = new World(theirs);
      await world.shadow.look(read(), ours);
      assert.equal(world.count("unknown"), 1);
      assert.equal(world.told.length, 0);
    }
  });

  void it("looks at the share it was told to, and only at whole JSON answers", async () => {
    const world = new World(list([]), { rate: 0.25 });
    for (let at = 0; at < 400; at++) await world.shadow.look(read(), answer(list([])));
    assert.ok(world.asked.length > 60 && world.asked.length < 140, String(world.asked.length));
    const all = new World(list([]));
    await all.shadow.look(read("list", "limit=5&continue=x"), answer(list([])));
    const page = { ...list([]), metadata: { resourceVersion: "9", continue: "x" } };
    await all.shadow.look(read("list", "limit=5"), answer(page));
    assert.equal(all.count("skipped"), 2);
    await all.shadow.look(read(), answer(list([]), { "content-type": "application/yaml" }));
    await all.shadow.look(read("watch"), answer(list([])));
    assert.equal(all.asked.length, 0);
    await all.shadow.look(read("list", "limit=5"), answer(list([])));
    assert.equal(all.asked.length, 1, "nothing was beyond the limit");
  });

  void it("asks few questions at once and leaves large answers alone", async () => {
    const world = new World(list([]));
    const free = Promise.withResolvers<void>();
    world.held = free.promise;
    const looks = [1, 2, 3].map(() => world.shadow.look(read(), answer(list([]))));
    await looks[2];
    assert.deepEqual([world.asked.length, world.count("skipped")], [2, 1]);
    free.resolve();
    await Promise.all(looks);
    assert.equal(world.count("equal"), 2);
    await world.shadow.look(read(), answer(list([object("x", "y".repeat(20_000))])));
    assert.equal(world.count("skipped"), 2);
  });

  void it("compares content, not the order of members", async () => {
    const one = { metadata: { name: "x" }, a: 1, b: { c: [1, 2] } };
    const same = { b: { c: [1, 2] }, a: 1, metadata: { name: "x" } };
    const other = { ...same, b: { c: [2, 1] } };
    const world = new World(list([one]));
    await world.shadow.look(read(), answer(list([same])));
    await world.shadow.look(read(), answer(list([other])));
    assert.deepEqual([world.count("equal"), world.count("different")], [1, 1]);
  });
});
