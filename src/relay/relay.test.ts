/** The relay at its door: plain requests in, answers out; the upstream and its reviews are fakes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { failure } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { FakeClock, fakeRandom } from "#client/testing/fake-clock.ts";
import type { ByteRequest, ByteTransport } from "#platform/byte-transport.ts";
import type { ByteSink, PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { MetricSet } from "#server/metric-set.ts";
import { relayLimits } from "./limits.ts";
import { decodeProtobuf } from "#server/protobuf/decode.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { createRelay, type Relay } from "./relay.ts";
import { FakeUpstream, podKind } from "./testing/fake-upstream.ts";
import { parseViewFile } from "./view-definition.ts";

const ann: UserInfo = { name: "ann", groups: ["team", "system:authenticated"] };

interface Review {
  readonly user: string;
  readonly resourceAttributes?: Readonly<Record<string, unknown>>;
}

const viewFile = `
views:
  - name: table
    resource: pods
    text: '{.metadata.labels.v} {.metadata.name} on {.spec.nodeName};'
    zone: {path: .spec.nodeName, minimum: 2}
  - name: fields
    resource: pods
    namespaces: [ns0, ns9]
    labelSelector: v!=2
    fields: {node: .spec.nodeName, none: .x, all: [".metadata.labels.*"]}
`;

class World {
  readonly clock = new FakeClock();
  readonly fake: FakeUpstream;
  readonly relay: Relay;
  readonly passed: ByteRequest[] = [];
  readonly reviews: Review[] = [];
  readonly revoked = new Set<string>();
  reviewsAway = false;

  constructor(
    limits: Partial<typeof relayLimits> = {},
    fake = new FakeUpstream(),
    peerStreams?: () => Promise<readonly number[]>,
  ) {
    this.fake = fake;
    this.relay = createRelay(
      {
        clock: this.clock,
        random: fakeRandom(3),
        log: silentLog,
        metrics: new MetricSet(),
        http: this.fake,
        passHttp: this.#passHttp(),
        client: {
          create: (_: unknown, __: string, o: unknown) => this.#review(o),
        } as unknown as Client,
        headers: () => ({ authorization: "Bearer relay" }),
        ...(peerStreams === undefined ? {} : { peerStreams }),
        peers: { authenticate: () => Promise.resolve({ kind: "none" }) },
      },
      {
        resources: [podKind],
        views: parseViewFile(viewFile).map((definition) => ({ definition, kind: podKind })),
        consistency: "verify",
        limits: { ...relayLimits, flushMs: 0, ...limits },
      },
    );
  }

  async get(target: string, headers: Record<string, string> = {}, user = ann): Promise<Answer> {
    const answer = this.relay.handler(plain("GET", target, headers, user));
    await this.clock.advance(500);
    return bodyOf(await answer);
  }

  async watch(target: string): Promise<Watching> {
    const answer = this.relay.handler(plain("GET", target, {}, ann));
    await this.clock.advance(0);
    const response = await answer;
    assert.equal(response.kind, "stream");
    const watching = new Watching();
    if (response.kind === "stream") watching.close = response.open(watching);
    return watching;
  }

  /** The upstream's events reach the relay. */
  async flow(): Promise<void> {
    await this.clock.advance(1);
    this.fake.enqueue();
    this.fake.deliver(1000);
    await this.clock.advance(1);
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.fake.close();
    await this.clock.advance(100_000);
    await stopped;
  }

  #review(object: unknown): Promise<unknown> {
    if (this.reviewsAway) return Promise.reject(failure(503, "ServiceUnavailable", "away"));
    const { spec } = object as { spec: Review & { token?: string } };
    if (spec.token !== undefined) {
      const user = { username: `user-of-${spec.token}`, groups: ["g"] };
      return Promise.resolve({ status: { authenticated: spec.token !== "bad", user } });
    }
    this.reviews.push(spec);
    return Promise.resolve({ status: { allowed: !this.revoked.has(spec.user) } });
  }

  #passHttp(): ByteTransport {
    return {
      send: (request) => {
        this.passed.push(request);
        const body = Buffer.from(`upstream answers ${request.method} ${request.target}`);
        return Promise.resolve({
          status: 200,
          headers: { "content-type": "text/plain", connection: "close" },
          read: () => Promise.resolve(body),
          stream: async (take) => {
            for (const byte of body) await take(Buffer.of(byte));
          },
        });
      },
      close() {},
    };
  }
}

class Watching implements ByteSink {
  text = "";
  ended = false;
  left = false;
  closed = false;
  close = (): void => {};
  write(chunks: readonly Uint8Array[]): boolean {
    for (const chunk of chunks) this.text += Buffer.from(chunk).toString();
    return true;
  }
  onDrain(): void {}
  leave(): void {
    this.left = true;
  }
  end(): void {
    this.ended = true;
  }

  get lines(): string[] {
    const events = this.text
      .trim()
      .split("\n")
      .filter((line) => line !== "");
    return events.map((line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: Json };
      const { name = "", resourceVersion } = object.metadata ?? {};
      return `${type} ${name}@${resourceVersion ?? object.code}`;
    });
  }
}

interface Json {
  readonly metadata?: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly code?: number;
  readonly message?: string;
  readonly items?: readonly Json[];
  readonly deleted?: readonly { readonly name: string }[];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly json: Json;
  readonly body: readonly Uint8Array[];
}

function plain(
  method: string,
  target: string,
  headers: Record<string, string>,
  user: UserInfo,
): PlainRequest {
  const [path = "", query = ""] = target.split("?");
  const direct = user.name !== "";
  return {
    method,
    path,
    query,
    headers,
    body: { kind: "none" },
    peer: direct ? { kind: "direct", user } : { kind: "socket", address: "127.0.0.1" },
    signal: new AbortController().signal,
  };
}

const nobody: UserInfo = { name: "", groups: [] };

async function bodyOf(response: PlainResponse): Promise<Answer> {
  let bytes: Uint8Array = new Uint8Array(0);
  let body: readonly Uint8Array[] = [];
  if (response.kind === "bytes") {
    body = response.body;
    bytes = Buffer.concat(body);
  } else if (response.kind === "stream") {
    const sink = new Watching();
    response.open(sink);
    for (let turn = 0; turn < 200 && !sink.ended; turn++) await Promise.resolve();
    bytes = Buffer.from(sink.text);
  }
  if (response.kind === "object") bytes = Buffer.from(JSON.stringify(response.object));
  const { status, headers } = response;
  const plainBytes = headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
  const text = Buffer.from(plainBytes).toString();
  const json = (text.startsWith("{") ? JSON.parse(text) : {}) as Json;
  return { status, headers, text, json, body };
}

async function filled(count: number, limits: Partial<typeof relayLimits> = {}): Promise<World> {
  const fake = new FakeUpstream();
  for (let at = 0; at < count; at++) fake.write([`ns${at % 2}/p${at}`, String(at % 3)]);
  const world = new World(limits, fake);
  await world.clock.advance(1);
  return world;
}

const names = (answer: Answer): (string | undefined)[] =>
  (answer.json.items ?? []).map((item) => item.metadata?.name);

void describe("a read of a mirrored resource", () => {
  void it("is answered here, by namespace, labels and fields, with bytes as the upstream sent them", async () => {
    const world = await filled(6);
    const all = await world.get("/api/v1/pods?resourceVersion=0");
    assert.deepEqual(names(all), ["p0", "p2", "p4", "p1", "p3", "p5"]);
    assert.equal(all.json.metadata?.resourceVersion, "7");
    assert.ok(all.text.includes('"big":9007199254740993'));
    const one = await world.get("/api/v1/namespaces/ns1/pods/p3?resourceVersion=0");
    assert.equal(one.json.metadata?.resourceVersion, "5");
    assert.deepEqual(
      names(await world.get("/api/v1/namespaces/ns0/pods?resourceVersion=0&labelSelector=v%3D0")),
      ["p0"],
    );
    assert.deepEqual(
      names(await world.get("/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn1")),
      ["p4", "p1"],
    );
    const missing = await world.get("/api/v1/namespaces/ns1/pods/none?resourceVersion=0");
    assert.equal(missing.json.message, 'pods "none" not found');
    assert.equal(world.passed.length, 0);
    await world.stop();
  });

  void it("passes through when it asks for what only the upstream can say", async () => {
    const world = await filled(1);
    const rows = [
      "/api/v1/namespaces/ns0/pods/p0",
      "/api/v1/namespaces/ns0/pods/p0/log",
      "/api/v1/pods?fieldSelector=spec.nonsense%3D1",
      "/api/v1/pods?labelSelector=%21%21",
      "/api/v1/pods?resourceVersion=abc",
      "/apis/apps/v1/deployments",
    ];
    for (const row of rows) assert.match((await world.get(row)).text, /^upstream answers GET/, row);
    const yaml = { accept: "application/yaml" };
    assert.match((await world.get("/api/v1/pods?resourceVersion=0", yaml)).text, /^upstream/);
    const headers = world.passed[0]?.headers ?? {};
    assert.equal(headers["authorization"], "Bearer relay");
    assert.equal(headers["impersonate-user"], "ann");
    assert.deepEqual(headers["impersonate-group"], ann.groups);
    await world.stop();
  });

  void it("answers in protobuf, but for what has no protobuf", async () => {
    const world = await filled(2);
    const accept = "application/vnd.kubernetes.protobuf";
    const listed = await world.get("/api/v1/pods?resourceVersion=0", { accept });
    assert.equal(listed.headers["content-type"], accept);
    const { kind, raw } = readEnvelope(Buffer.concat(listed.body));
    const list = decodeProtobuf({ group: "", version: "v1", kind }, raw) as unknown as Json;
    assert.deepEqual(
      list.items?.map(({ metadata }) => metadata?.name),
      ["p0", "p1"],
    );
    const one = await world.get("/api/v1/namespaces/ns0/pods/p0?resourceVersion=0", { accept });
    assert.equal(readEnvelope(Buffer.concat(one.body)).kind, "Pod");
    const only = `${accept};as=Table;g=meta.k8s.io;v=v1`;
    assert.match((await world.get("/api/v1/pods", { accept: only })).text, /^upstream/);
    assert.equal(world.passed.length, 1);
    await world.stop();
  });

  void it("pages through one moment, and its tokens have the upstream's form", async () => {
    const world = await filled(5);
    const first = await world.get("/api/v1/pods?limit=2");
    assert.deepEqual(names(first), ["p0", "p2"]);
    assert.equal(first.json.metadata?.remainingItemCount, 3);
    world.fake.write(["ns0/p4", undefined], ["ns1/p9", "1"]);
    await world.flow();
    const token = first.json.metadata?.continue ?? "";
    const form = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown;
    assert.deepEqual(form, { v: "meta.k8s.io/v1", rv: 6, start: "/ns0/p2\0" });
    const rest = await world.get(`/api/v1/pods?limit=9&continue=${token}`);
    assert.deepEqual(names(rest), ["p4", "p1", "p3"]);
    assert.equal(rest.json.metadata?.resourceVersion, "6");
    await world.stop();
  });

  void it("pages name the moment that was asked for, also where a list alone showed it", async () => {
    const world = await filled(5);
    // Of other resources: this one's stream says nothing of it.
    world.fake.skip();
    world.fake.skip();
    const answer = world.relay.handler(plain("GET", "/api/v1/pods?limit=2", {}, ann));
    await world.clock.advance(5_000);
    const first = await bodyOf(await answer);
    assert.equal(first.json.metadata?.resourceVersion, "8");
    const token = first.json.metadata?.continue ?? "";
    const { lists } = world.fake;
    const here = await world.get(`/api/v1/pods?limit=1&continue=${token}`);
    assert.equal(here.json.metadata?.resourceVersion, "8");
    world.fake.write(["ns0/p4", undefined]);
    await world.flow();
    const rest = await world.get(`/api/v1/pods?limit=9&continue=${token}`);
    assert.deepEqual(names(rest), ["p4", "p1", "p3"]);
    assert.equal(rest.json.metadata?.resourceVersion, "8");
    assert.equal(world.fake.lists, lists, "of pages of ours the upstream hears nothing");
    await world.stop();
  });

  void it("of the most recent state asks the upstream once for all who wait, and never shows an older one", async () => {
    const world = await filled(2);
    const { lists } = world.fake;
    world.fake.write(["ns0/new", "1"]);
    const crowd = Array.from({ length: 50 }, () =>
      world.relay.handler(plain("GET", "/api/v1/pods", {}, ann)),
    );
    await world.clock.advance(5_000);
    for (const response of await Promise.all(crowd)) {
      assert.ok(names(await bodyOf(response)).includes("new"));
    }
    assert.equal(world.fake.lists, lists + 1);
    const late = world.relay.handler(plain("GET", "/api/v1/pods?resourceVersion=99", {}, ann));
    await world.clock.advance(60_000);
    assert.equal((await late).status, 504, "a revision nobody has reached");
    await world.stop();
  });

  void it("is served from the last known state while the upstream is away, and says so", async () => {
    const world = await filled(2);
    world.fake.down = true;
    world.fake.cut(false);
    await world.clock.advance(30_000);
    const answer = await world.get("/api/v1/pods");
    assert.equal(answer.status, 200);
    assert.match(
      String(answer.headers["warning"]),
      /^299 - "the relay cannot reach its upstream; this may be 30 s old"/,
    );
    await world.stop();
  });

  void it("shares one body, and one compression of it, with everybody at the same revision", async () => {
    const world = await filled(1200);
    const zipped = { "accept-encoding": "gzip" };
    const [one, two] = [
      await world.get("/api/v1/pods?resourceVersion=0", zipped),
      await world.get("/api/v1/pods?resourceVersion=0", zipped),
    ];
    assert.equal(one.headers["content-encoding"], "gzip");
    assert.equal(one.body[0], two.body[0]);
    assert.equal(one.json.items?.length, 1200);
    await world.stop();
  });
});

void describe("a crowd", () => {
  const limits = { herdBytesMax: 10_000, herdAnswerBytesMin: 1_000 };
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

void describe("a watch of a mirrored resource", () => {
  void it("starts with the state or after a revision, and is told 410 only where history ends", async () => {
    const world = await filled(3);
    const state = await world.watch(
      "/api/v1/pods?watch=true&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    );
    const after = await world.watch("/api/v1/pods?watch=true&resourceVersion=4");
    const old = await world.watch("/api/v1/pods?watch=true&resourceVersion=2");
    world.fake.write(["ns0/p0", "9"]);
    await world.flow();
    assert.deepEqual(state.lines, [
      "ADDED p0@2",
      "ADDED p2@4",
      "ADDED p1@3",
      "BOOKMARK @4",
      "MODIFIED p0@5",
    ]);
    assert.ok(state.text.includes("k8s.io/initial-events-end"));
    assert.deepEqual(after.lines, ["MODIFIED p0@5"]);
    assert.deepEqual(old.lines, ["ERROR @410"]);
    assert.ok(old.ended);
    assert.equal(world.fake.watches, 1, "one upstream watch for all");
    await world.stop();
    assert.ok(state.ended);
  });

  void it("ends when its user may not read any more, and goes on while nobody can be asked", async () => {
    const world = await filled(1, { reviewStreamsMs: 30_000 });
    const watching = await world.watch("/api/v1/pods?watch=true&resourceVersion=0");
    world.reviewsAway = true;
    await world.clock.advance(31_000);
    assert.equal(watching.ended, false);
    world.reviewsAway = false;
    world.revoked.add("ann");
    await world.clock.advance(31_000);
    assert.equal(watching.ended, true);
    assert.equal((await world.get("/api/v1/pods?resourceVersion=0")).status, 403);
    await world.stop();
  });
});

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

void describe("the ETag face", () => {
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
    assert(response.kind === "bytes" && response.again !== undefined);
    const { again } = response;
    const lines = String(again()?.http1).split("\r\n");
    assert.equal(lines[0], "HTTP/1.1 304 Not Modified");
    for (const [name, value] of Object.entries(response.headers)) {
      assert.ok(lines.includes(`${name}: ${String(value)}`), name);
    }
    await world.clock.advance(relayLimits.allowedMs);
    assert.equal(again(), undefined, "what was allowed is asked again");
    assert.equal((await ask({ ...token, "if-none-match": etag })).status, 304);
    assert.notEqual(again(), undefined, "renewed by anybody with this token");
    world.fake.write(["ns0/p0", "9"]);
    await world.flow();
    assert.equal(again(), undefined, "another content");
    const other = { ...token, "if-none-match": etag, "impersonate-user": "x" };
    const acting = await ask({ ...other, "if-none-match": "*" });
    assert.equal(acting.kind === "bytes" && acting.again?.(), undefined, "acting as another");
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
