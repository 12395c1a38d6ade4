/** Resources of extension API servers, which no definition describes: there at the start, later, away, gone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { FakeClock } from "#client/testing/fake-clock.ts";
import type { PlainResponse } from "#platform/http.ts";
import { relayLimits } from "./limits.ts";
import type { MirroredKind } from "./mirrored-kind.ts";
import { createRelay, type Relay } from "./relay.ts";
import { chosen, discover, DiscoveryError, UnknownResourceError } from "./resources.ts";
import { FakeCollections } from "./testing/fake-collections.ts";
import { plainGet, relayDeps, Watching } from "./testing/relay-fixture.ts";

const things = "/apis/ext.example.com/v1/things";
const later = "/apis/later.example.com/v1/others";
const thingKind: MirroredKind = {
  group: "ext.example.com",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
  apiVersion: "ext.example.com/v1",
};

function thing(name: string): AnyObject {
  const metadata = { name, namespace: "ns", uid: `uid-${name}` };
  return { apiVersion: "ext.example.com/v1", kind: "Thing", metadata } as AnyObject;
}

class World {
  readonly clock = new FakeClock();
  readonly fake = new FakeCollections();
  readonly relay: Relay;

  constructor(numbered = true) {
    this.fake.serve(things);
    this.fake.put(things, thing("a"));
    if (!numbered) this.fake.revision = Number.NaN;
    this.relay = createRelay(relayDeps(this.clock, this.fake), {
      resources: [thingKind],
      views: [],
      consistency: "cache",
      limits: { ...relayLimits, flushMs: 0 },
    });
  }

  async ask(target: string): Promise<PlainResponse> {
    const answer = this.relay.handler(plainGet(target));
    await this.clock.advance(500);
    return answer;
  }

  async watch(target: string): Promise<Watching> {
    const response = await this.ask(target);
    assert.ok(response.kind === "stream");
    const watching = new Watching();
    response.open(watching);
    await this.clock.advance(1);
    return watching;
  }

  /** Requests of users that went on to the upstream. */
  get passed(): number {
    return this.fake.requests.filter(({ headers }) => "impersonate-user" in headers).length;
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.fake.close();
    await this.clock.advance(100_000);
    await stopped;
  }
}

void describe("an aggregated API", () => {
  void it("that appears later passes through: 404 before, objects and watches after", async () => {
    const world = new World();
    await world.clock.advance(100);
    assert.equal((await world.ask(later)).status, 404);
    world.fake.serve(later);
    world.fake.put(later, thing("b"));
    const watching = await world.watch(later);
    assert.match(watching.text, /"name":"b"/, "a list without a length is a stream");
    const open = await world.watch(`${later}?watch=true`);
    world.fake.put(later, thing("c"));
    await world.clock.advance(1);
    assert.match(open.text, /"ADDED".*"name":"c"/);
    assert.equal(world.passed, 3);
    await world.stop();
  });

  void it("that goes is no longer told from memory, and is mirrored again when it is back", async () => {
    const world = new World();
    await world.clock.advance(100);
    assert.equal((await world.ask(`${things}?resourceVersion=0`)).status, 200);
    const watching = await world.watch(`${things}?watch=true&resourceVersion=0`);
    const poll = await world.ask(`/etag${things}`);
    assert.equal(poll.status, 200);
    world.fake.withdraw(things);
    await world.clock.advance(60_000);
    assert.equal(watching.ended, true);
    assert.equal(world.passed, 0);
    assert.equal((await world.ask(`${things}?resourceVersion=0`)).status, 404);
    assert.equal((await world.ask(`/etag${things}`)).status, 503);
    assert.equal((await world.ask("/relay/readyz")).status, 200, "what is gone is not waited for");
    assert.equal(world.passed, 1);
    world.fake.serve(things);
    world.fake.put(things, thing("new"));
    await world.clock.advance(120_000);
    const again = await world.ask(`${things}?resourceVersion=0`);
    assert.ok(again.kind === "bytes");
    assert.match(Buffer.concat(again.body).toString(), /"name":"new"/);
    assert.equal(world.passed, 1);
    await world.stop();
  });

  void it("whose resourceVersions are no numbers passes through", async () => {
    const world = new World(false);
    await world.clock.advance(100);
    assert.equal(world.relay.ready, true);
    await world.ask(`${things}?resourceVersion=0`);
    assert.equal(world.passed, 1);
    await world.stop();
  });

  void it("whose server is away keeps no relay from starting, and is told", async () => {
    const documents: Readonly<Record<string, unknown>> = {
      "/api/v1": { resources: [{ name: "pods", kind: "Pod", namespaced: true, verbs }] },
      "/apis": { groups: [{ name: "ext.example.com", versions: [{ version: "v1" }] }] },
    };
    const unread: string[] = [];
    const read = (path: string): Promise<unknown> => {
      const document = documents[path];
      if (document !== undefined) return Promise.resolve(document);
      return Promise.reject(new DiscoveryError(503, path, "service unavailable"));
    };
    const kinds = await discover({ read, unread: (path) => unread.push(path) });
    assert.deepEqual(
      kinds.map(({ resource }) => resource),
      ["pods"],
    );
    assert.deepEqual(unread, ["/apis/ext.example.com/v1"]);
    assert.throws(() => chosen(kinds, ["things"]), UnknownResourceError);
    const away = (): Promise<unknown> => Promise.reject(new Error("refused"));
    await assert.rejects(discover({ read: away, unread: () => {} }), /refused/);
  });
});

const verbs = ["list", "watch"];
