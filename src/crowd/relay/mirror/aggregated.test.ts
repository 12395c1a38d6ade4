/** Resources of extension API servers, which no definition describes: there at the start, later, away, gone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { PlainResponse } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { relayLimits } from "../limits.ts";
import type { MirroredKind } from "./mirrored-kind.ts";
import { createRelay, type Relay } from "../relay.ts";
import { chooseResources, discover, DiscoveryError, UnknownResourceError } from "./resources.ts";
import { FakeCollections } from "../testing/fake-collections.ts";
import { plainGet, relayDeps, Watching } from "../testing/relay-fixture.ts";

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

const maps = "/api/v1/configmaps";
const mapKind: MirroredKind = {
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
  apiVersion: "v1",
};

interface WorldOptions {
  readonly numbered?: boolean;
  readonly down?: boolean;
  readonly balancerAlone?: boolean;
  /** Paths answered 503 from the start. */
  readonly away?: readonly string[];
  readonly resources?: readonly MirroredKind[];
  readonly ready?: { readonly readyAgeMsMax?: number };
}

class World {
  readonly clock = new FakeClock();
  readonly fake = new FakeCollections();
  readonly relay: Relay;

  constructor({
    numbered = true,
    down = false,
    balancerAlone = false,
    away = [],
    resources = [thingKind],
    ready = {},
  }: WorldOptions = {}) {
    this.fake.serve(things);
    this.fake.put(things, thing("a"));
    this.fake.serve(maps);
    if (!numbered) this.fake.revision = Number.NaN;
    this.fake.down = down;
    this.fake.balancerAlone = balancerAlone;
    for (const path of away) this.fake.away.add(path);
    this.relay = createRelay(relayDeps(this.clock, this.fake), {
      resources,
      views: [],
      consistency: "cache",
      limits: { ...relayLimits, flushMs: 0, ...ready },
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

  async readiness(): Promise<readonly [number, string]> {
    const answer = await this.ask("/relay/readyz");
    assert.ok(answer.kind === "bytes");
    return [answer.status, Buffer.concat(answer.body).toString()];
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
    const world = new World({ numbered: false });
    await world.clock.advance(100);
    assert.equal(world.relay.ready, true);
    await world.ask(`${things}?resourceVersion=0`);
    assert.equal(world.passed, 1);
    await world.stop();
  });

  void it("whose server answers 503 is not waited for: the rest is served, readiness names it, and it is mirrored when it is back", async () => {
    const world = new World({ away: [things], resources: [mapKind, thingKind] });
    await world.clock.advance(10_000);
    const passed = `ok, but passed through for want of a list: ext.example.com/v1/things\n`;
    assert.deepEqual(await world.readiness(), [200, passed]);
    assert.equal(world.relay.ready, true);
    assert.equal((await world.ask(`${maps}?resourceVersion=0`)).status, 200);
    assert.equal(world.passed, 0);
    assert.equal(
      (await world.ask(`${things}?resourceVersion=0`)).status,
      503,
      "the upstream's own",
    );
    assert.equal(world.passed, 1);
    world.fake.away.clear();
    assert.equal((await world.ask(`${things}?resourceVersion=0`)).status, 200);
    assert.equal(world.passed, 2, "at once, whenever the next list is");
    await world.clock.advance(60_000);
    assert.equal((await world.ask(`${things}?resourceVersion=0`)).status, 200);
    assert.equal(world.passed, 2);
    assert.deepEqual(await world.readiness(), [200, "ok"]);
    await world.stop();
  });

  void it("is waited for while its upstream says nothing, and a built-in kind is whatever it says", async () => {
    const down = new World({ down: true, resources: [mapKind, thingKind] });
    await down.clock.advance(60_000);
    const unlisted = "not listed yet: v1/configmaps, ext.example.com/v1/things\n";
    assert.deepEqual(await down.readiness(), [503, unlisted]);
    await down.stop();
    const builtin = new World({ away: [maps], resources: [mapKind, thingKind] });
    await builtin.clock.advance(60_000);
    assert.deepEqual(await builtin.readiness(), [503, "not listed yet: v1/configmaps\n"]);
    await builtin.stop();
  });

  void it("is waited for while only a load balancer answers, also where nothing else is mirrored", async () => {
    const world = new World({ balancerAlone: true, ready: { readyAgeMsMax: 30_000 } });
    await world.clock.advance(60_000);
    const unlisted = [503, "not listed yet: ext.example.com/v1/things\n"];
    assert.deepEqual(await world.readiness(), unlisted);
    // The API server is back, the one behind it is not; it need not let the relay ask how it is.
    for (const readyz of [200, 401, 403]) {
      world.fake.balancerAlone = false;
      world.fake.away.add(things);
      world.fake.readyz = readyz;
      await world.clock.advance(120_000);
      assert.equal((await world.readiness())[0], 200);
      world.fake.balancerAlone = true;
      await world.clock.advance(120_000);
      assert.deepEqual(await world.readiness(), unlisted, `after ${readyz}`);
    }
    world.fake.balancerAlone = false;
    world.fake.readyz = 500;
    await world.clock.advance(120_000);
    assert.deepEqual(await world.readiness(), unlisted, "it says itself that it is not well");
    world.fake.away.clear();
    await world.clock.advance(120_000);
    assert.deepEqual(await world.readiness(), [200, "ok"]);
    // It was listed before, so it becomes too old once its server is away.
    world.fake.balancerAlone = true;
    world.fake.cut(things);
    await world.clock.advance(120_000);
    assert.equal((await world.readiness())[0], 503);
    await world.stop();
  });

  void it("whose server goes away later, or may not be listed, ends no readiness by its age", async () => {
    const ready = { readyAgeMsMax: 30_000 };
    const world = new World({ resources: [mapKind, thingKind], ready });
    await world.clock.advance(100);
    world.fake.away.add(things);
    world.fake.cut(things);
    await world.clock.advance(120_000);
    assert.deepEqual(await world.readiness(), [200, "ok"]);
    assert.equal((await world.ask(`${things}?resourceVersion=0`)).status, 200);
    assert.equal(world.passed, 0, "the last state is told");
    // The upstream itself is gone: that is for readiness to tell.
    world.fake.down = true;
    world.fake.cut(maps);
    await world.clock.advance(60_000);
    assert.equal((await world.readiness())[0], 503);
    await world.stop();
    const gone = new World({ resources: [mapKind, thingKind], ready });
    gone.fake.withdraw(things);
    await gone.clock.advance(120_000);
    assert.equal((await gone.readiness())[0], 200);
    await gone.stop();
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
    assert.throws(() => chooseResources(kinds, ["things"]), UnknownResourceError);
    const away = (): Promise<unknown> => Promise.reject(new Error("refused"));
    await assert.rejects(discover({ read: away, unread: () => {} }), /refused/);
  });
});

const verbs = ["list", "watch"];
