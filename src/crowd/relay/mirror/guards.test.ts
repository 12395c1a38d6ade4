/** What keeps a relay from doing harm when its upstream does: shrunken lists, silence, loops. And its metrics. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { Client } from "#client/client.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeHttpServer, wholeAnswer } from "#platform/testing/http-server.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { roomyLedger } from "#platform/testing/roomy-ledger.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { everything, TestSink } from "#watch/testing/feed.ts";
import { type RelayLimits, relayLimits } from "../limits.ts";
import type { Mirror } from "./mirror.ts";
import { createRelay, type Relay } from "../relay.ts";
import { FakeUpstream, podKind } from "../testing/fake-upstream.ts";

const pods = "/api/v1/pods";

/** Every caller is the user ann, allowed to read everything. */
const reviewer = {
  create: () =>
    Promise.resolve({ status: { allowed: true, authenticated: true, user: { username: "ann" } } }),
} as unknown as Client;

class World {
  readonly clock: FakeClock;
  readonly fake = new FakeUpstream();
  readonly metrics = new MetricSet();
  readonly relay: Relay;

  constructor(
    limits: Partial<RelayLimits>,
    { clock = new FakeClock(), http, seed = 1 }: Partial<Net> = {},
  ) {
    this.clock = clock;
    const upstream = http ?? this.fake;
    this.relay = createRelay(
      {
        clock,
        random: new FakeRandom(seed),
        log: silentLog,
        ledger: roomyLedger(),
        metrics: this.metrics,
        http: upstream,
        passHttp: upstream,
        anonymousHttp: upstream,
        client: reviewer,
        headers: () => ({}),
        peers: { authenticate: () => Promise.resolve({ kind: "none" }) },
      },
      {
        resources: [podKind],
        views: [],
        consistency: "verify",
        limits: { ...relayLimits, flushMs: 0, ...limits },
      },
    );
  }

  get mirror(): Mirror {
    const mirror = this.relay.resources[0]?.mirror;
    assert.ok(mirror !== undefined);
    return mirror;
  }

  /** A hundred pods, mirrored; and a watcher of them. */
  async begin(): Promise<TestSink> {
    await this.clock.advance(1);
    for (let at = 0; at < 100; at++) this.fake.write([`ns/p${at}`, "1"]);
    // Something newer closes the last revision.
    this.fake.skip();
    this.fake.bookmark();
    this.fake.deliver(1_000);
    await this.clock.advance(1_000);
    assert.equal(this.mirror.cache.state.size, 100);
    const sink = new TestSink();
    const start = { after: this.mirror.revision };
    this.mirror.cache.watch({ predicate: everything, bookmarks: false, start }, sink);
    return sink;
  }

  /** Restarts the upstream without the first `count` objects. */
  async lose(count: number): Promise<void> {
    const gone = Array.from({ length: count }, (_, at) => [`ns/p${at}`, undefined] as const);
    this.fake.write(...gone);
    this.fake.compact();
    this.fake.cut(false);
    await this.clock.advance(1_000);
    // The refusal of the watch that goes on.
    this.fake.deliver(1);
    await this.clock.advance(1_000);
  }

  async get(target: string, headers: Record<string, string> = {}): Promise<PlainResponse> {
    const answer = this.relay.handler(plain(target, headers));
    await this.clock.advance(500);
    return answer;
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.fake.close();
    await this.clock.advance(100_000);
    await stopped;
  }
}

interface Net {
  readonly clock: FakeClock;
  readonly http: ByteTransport;
  readonly seed: number;
}

function plain(target: string, headers: Record<string, string>): PlainRequest {
  const [path = "", query = ""] = target.split("?");
  const { signal } = new AbortController();
  const peer = { kind: "socket", address: "127.0.0.1" } as const;
  const all = { authorization: "Bearer ann", ...headers };
  return { method: "GET", path, query, headers: all, body: { kind: "none" }, peer, signal };
}

function textOf(response: PlainResponse): string {
  return response.kind === "bytes"
    ? Buffer.concat([...response.body]).toString()
    : JSON.stringify(response);
}

/** A transport to a relay that is set later; answers are always in one piece. */
class Wire {
  to: Relay | undefined;
  readonly http = new FakeHttpServer(async ({ target, headers }) => {
    const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    assert.ok(this.to !== undefined);
    const response = await this.to.handler(plain(target, Object.fromEntries(given)));
    const body = Buffer.from(textOf(response));
    const length = { "content-length": String(body.length) };
    const answered = { ...(response.headers as Readonly<Record<string, string>>), ...length };
    return wholeAnswer(response.status, body, answered);
  });
}

void describe("the shrink guard", () => {
  const guarded = { shrinkPercentMax: 50, shrinkConfirmMs: 10_000 };

  void it("applies a list that takes most of a resource away when a second one says so too", async () => {
    const world = new World(guarded);
    const sink = await world.begin();
    await world.lose(51);
    assert.equal(world.mirror.cache.state.size, 100, "the first is not believed");
    assert.ok(world.mirror.ageMs > 0, "what is held gets older");
    assert.match(world.metrics.text(), /relay_lists_held_back_total\{resource="v1\/pods"\} 1/);
    await world.clock.advance(10_000);
    assert.equal(world.mirror.cache.state.size, 49);
    assert.equal(sink.items.filter(({ type }) => type === "DELETED").length, 51);
    assert.equal(sink.ended, false);
    assert.match(world.metrics.text(), /relay_lists_confirmed_total\{resource="v1\/pods"\} 1/);
    await world.stop();
  });

  void it("tells nobody when the second list has it all again", async () => {
    const world = new World(guarded);
    const sink = await world.begin();
    await world.lose(100);
    for (let at = 0; at < 100; at++) world.fake.write([`ns/p${at}`, "1"]);
    await world.clock.advance(10_000);
    assert.equal(world.mirror.cache.state.size, 100);
    assert.equal(world.relay.resources[0]?.upstream.guard.counts.held, 1);
    // They are others of the same names.
    assert.equal(sink.items.filter(({ type }) => type === "ADDED").length, 100);
    await world.stop();
  });

  void it("lets through what takes no more than its share, and everything when it is off", async () => {
    for (const [limits, gone] of [
      [guarded, 50],
      [{}, 100],
    ] as const) {
      const world = new World(limits);
      await world.begin();
      await world.lose(gone);
      assert.equal(world.mirror.cache.state.size, 100 - gone);
      await world.stop();
    }
  });

  void it("holds for a list that a reader of the most recent state caused", async () => {
    const world = new World(guarded);
    await world.begin();
    world.fake.write(...Array.from({ length: 90 }, (_, at) => [`ns/p${at}`, undefined] as const));
    const answer = await world.get(pods);
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers["warning"]), /may be \d+ s old/);
    assert.equal(world.mirror.cache.state.size, 100);
    await world.stop();
  });
});

void describe("readiness by age", () => {
  void it("ends when the upstream has been away for longer, and comes back with it", async () => {
    const world = new World({ readyAgeMsMax: 30_000 });
    await world.begin();
    assert.equal((await world.get("/relay/readyz")).status, 200);
    world.fake.down = true;
    world.fake.cut(false);
    await world.clock.advance(20_000);
    assert.equal((await world.get("/relay/readyz")).status, 200);
    await world.clock.advance(10_000);
    const unready = await world.get("/relay/readyz");
    assert.equal(unready.status, 503);
    assert.equal(textOf(unready), "no word from upstream for more than 30 s: v1/pods\n");
    world.fake.down = false;
    await world.clock.advance(60_000);
    assert.equal((await world.get("/relay/readyz")).status, 200);
    await world.stop();
  });
});

void describe("the loop guard", () => {
  void it("refuses a request that comes back to the relay that sent it", async () => {
    const wire = new Wire();
    const world = new World({}, { http: wire.http });
    wire.to = world.relay;
    const answer = await world.get("/api/v1/namespaces/ns/secrets");
    assert.equal(answer.status, 508);
    assert.match(textOf(answer), /relay [0-9a-f]{16} is its own upstream.*came back here/);
    assert.equal(world.mirror.ready, false);
    await world.stop();
  });

  void it("believes no relay that reads from it, through however many others", async () => {
    const clock = new FakeClock();
    const real = new World({}, { clock, seed: 1 });
    await real.begin();
    const there = new Wire();
    there.to = real.relay;
    const second = new World({}, { clock, http: there.http, seed: 2 });
    await clock.advance(2_000);
    assert.equal(second.mirror.cache.state.size, 100);
    const back = new Wire();
    back.to = second.relay;
    // The first is started anew, with the second for its upstream.
    const again = new World({}, { clock, http: back.http, seed: 3 });
    there.to = again.relay;
    await clock.advance(120_000);
    const answer = await again.get("/api/v1/namespaces/ns/secrets");
    assert.equal(answer.status, 508);
    const believed = [again, second].filter(({ mirror }) => mirror.connected);
    assert.deepEqual(believed, [], "neither takes the other for an API server");
    for (const world of [again, second, real]) await world.stop();
  });
});

void describe("the metrics of a relay", () => {
  const page = new URL("../../../../docs/relay-metrics.md", import.meta.url);
  const head = `# Metrics of a relay

At \`/relay/metrics\`, for who may get \`/metrics\` upstream. With \`--serving-workers\` every sample has a label
\`process\` besides. Rewritten by \`node src/crowd/relay/mirror/guards.test.ts --rewrite\`, and checked by that test.

Coalescing: \`relay_events_received_total / relay_event_to_socket_seconds_count\` events a write. Resumes and
fresh starts: \`relay_watches_started_total\` by \`start\`. Told to come again: \`relay_requests_total{code="429"}\`.
Before these stand those of the process, \`process_*\` and \`nodejs_*\`, as in \`src/core/platform/process-metrics.ts\`.

| metric | type | labels | what |
|---|---|---|---|
`;

  void it("are those of docs/relay-metrics.md", async () => {
    const world = new World({});
    await world.begin();
    await world.get(pods);
    world.fake.write(["ns/p0", "2"]);
    world.fake.enqueue();
    world.fake.deliver(1);
    await world.clock.advance(10);
    const text = world.metrics.text();
    await world.stop();
    const table = `${head}${rows(text).join("\n")}\n`;
    if (process.argv.includes("--rewrite")) writeFileSync(page, table);
    assert.equal(readFileSync(page, "utf8"), table);
    assert.match(text, /relay_event_to_socket_seconds_count\{resource="v1\/pods"\} [1-9]/);
    assert.match(text, /relay_body_bytes_sent_total\{kind="mirror"\} [1-9]/);
  });

  void it("count who is behind, and for how long", async () => {
    const world = new World({});
    await world.begin();
    const sink = { deliver: () => false, end() {} };
    const start = { after: world.mirror.revision };
    world.mirror.cache.watch({ predicate: everything, bookmarks: false, start }, sink);
    world.fake.write(["ns/p0", "2"]);
    world.fake.enqueue();
    world.fake.deliver(1);
    await world.clock.advance(5_000);
    const behind = (seconds: string): string | undefined =>
      new RegExp(`relay_watchers_behind\\{resource="v1/pods",seconds="${seconds}"\\} (\\d+)`).exec(
        world.metrics.text(),
      )?.[1];
    assert.deepEqual(["0", "1", "10"].map(behind), ["1", "1", "0"]);
    await world.stop();
  });
});

/** A row per metric, by name; labels as its samples show them. */
function rows(text: string): readonly string[] {
  const found = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)/gm)];
  const lines = found.map(([, name = "", help = "", type = ""]) => {
    const sample = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, "m").exec(text)?.[1] ?? "";
    const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label);
    return `| \`${name}\` | ${type} | ${labels.filter((label) => label !== "le").join(", ")} | ${help} |`;
  });
  return lines.sort();
}
