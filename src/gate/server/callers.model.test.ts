/**
 * A model test of callers: random callers (greedy, slow, silent, many) use a chain with a small ledger and the real
 * gate, on virtual time. The ledger is compared with what each caller was observed to hold.
 *
 * Claims after every step: the ledger equals the sum of all open requests; no caller and no namespace is above its
 * limit; a quiet caller is served at once; after all callers have left, nothing is held and no seat is taken.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alwaysAllow } from "#auth/testing/always-allow.ts";
import { createGate, gateDefaults } from "#flowcontrol/gate.ts";
import {
  answerRunBytes,
  type ByteSink,
  type PlainRequest,
  type PlainResponse,
} from "#platform/http.ts";
import { Ledger } from "#platform/ledger.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createChain } from "./chain.ts";
import { AccessMetrics } from "./access-metrics.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { RequestMetrics } from "./metrics.ts";

const limits = {
  callerBytesMax: 20_000_000,
  namespaceBytesMax: 40_000_000,
  totalBytesMax: 80_000_000,
  reservedBytes: 20_000_000,
  smallBytesMax: 1_000_000,
  sharedAnswerBytesMax: 4_000_000,
  accountsMax: 50,
};
const namespaces = ["green", "blue", "red"];
const callersMax = 12;
const quiet = "quiet";

/** An answer or a stream that is open, and what it holds. */
interface Open {
  readonly caller: string;
  readonly bytes: number;
  moved(): void;
  close(): void;
}

class World {
  readonly random: FakeRandom;
  readonly clock = new FakeClock();
  readonly ledger = new Ledger(limits);
  readonly gate = createGate({ clock: this.clock }, { ...gateDefaults, seats: 60 });
  readonly open: Open[] = [];
  served = 0;
  refused = 0;
  readonly #chain;

  constructor(seed: number) {
    this.random = new FakeRandom(seed);
    const authenticate = ({ headers }: PlainRequest) => {
      const user = { name: headers["user"] ?? "", groups: ["system:authenticated"] };
      return Promise.resolve({ kind: "user", user } as const);
    };
    this.#chain = createChain(
      {
        clock: this.clock,
        random: new FakeRandom(1),
        log: silentLog,
        authenticator: { authenticate },
        authorizer: alwaysAllow,
        gate: this.gate,
        metrics: new RequestMetrics(new MetricSet()),
        ledger: this.ledger,
        scopeOf: () => "namespaced",
        isServed: () => true,
        accessMetrics: new AccessMetrics(this.clock, new MetricSet()),
      },
      { requestTimeoutMs: 60_000 },
      (context) => Promise.resolve(answerOf(context.query)),
    );
  }

  async ask(caller: string, query: string): Promise<number> {
    const namespace = namespaces[this.random.below(namespaces.length)] ?? "";
    const response = await this.#chain({
      method: "GET",
      path: `/api/v1/namespaces/${caller === quiet ? "calm" : namespace}/pods`,
      query,
      headers: { user: caller },
      body: { kind: "none" },
      peer: { kind: "socket", address: "10.0.0.1" },
      signal: new AbortController().signal,
    });
    this.#keep(caller, response, query);
    return response.status;
  }

  /** What is expected to be held of an answer is reckoned here anew. */
  #keep(caller: string, response: PlainResponse, query: string): void {
    if (response.kind === "stream") {
      const bytes = 4_096 + Math.max(0, query.length - 512) * 48;
      const close = response.open(sink);
      this.open.push({ caller, bytes, moved: () => {}, close });
      return;
    }
    assert.equal(response.kind, "bytes");
    if (response.kind !== "bytes") return;
    const length = response.body.reduce((sum, { length: one }) => sum + one, 0);
    const own = response.isShared === true ? Math.min(length, limits.sharedAnswerBytesMax) : length;
    const { left = () => {}, moved = () => {} } = response;
    const bytes = own + Math.min(length, answerRunBytes);
    this.open.push({ caller, bytes, moved, close: left });
  }

  check(): void {
    const sum = this.open.reduce((all, { bytes }) => all + bytes, 0);
    assert.equal(this.ledger.bytes, sum);
    // Refusals are a few words, and always charged.
    assert.ok(sum <= limits.totalBytesMax + 1_000 * this.open.length);
    for (let at = 0; at < callersMax; at++)
      assert.ok(this.ledger.heldBy(`user:c${at}`) <= limits.callerBytesMax + 100_000);
  }

  seatsInUse(): number {
    return this.gate.levels().reduce((sum, { seatsInUse }) => sum + seatsInUse, 0);
  }
}

const sink: ByteSink = { write: () => true, onDrain: () => {}, end: () => {}, closed: false };

/** Not filled: its length is what counts. */
const pool = new Uint8Array(16_000_000);

function answerOf(query: URLSearchParams): PlainResponse {
  const headers = {};
  if (query.has("watch")) return { kind: "stream", status: 200, headers, open: () => () => {} };
  const length = Number(query.get("bytes"));
  const body = [pool.subarray(0, length)];
  const isShared = query.has("shared");
  return { kind: "bytes", status: 200, headers, body, isShared };
}

function wish(random: FakeRandom): string {
  const size = [100, 50_000, 300_000, 3_000_000, 15_000_000][random.below(5)] ?? 0;
  if (random.below(4) > 0) return `bytes=${size}${random.below(3) === 0 ? "&shared=1" : ""}`;
  return `watch=1&labelSelector=${"!a,".repeat(random.below(2) * random.below(10_000))}`;
}

async function step(world: World): Promise<void> {
  const { random } = world;
  const entry = world.open[random.below(Math.max(1, world.open.length))];
  switch (random.below(7)) {
    case 0:
      if (entry === undefined) return;
      entry.close();
      world.open.splice(world.open.indexOf(entry), 1);
      return;
    case 1:
      entry?.moved();
      return;
    case 2:
      return world.clock.advance(random.below(700));
    default: {
      // It may have to wait for a seat.
      const asked = world.ask(`c${random.below(callersMax)}`, wish(random));
      await settle();
      await world.clock.advance(1_000);
      const status = await asked;
      if (status === 200) world.served++;
      else world.refused++;
    }
  }
}

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);

for (let run = 0; run < 4; run++) {
  test(`random callers hold no more than they may, and a quiet one is served: run ${run}`, async () => {
    const world = new World(seed + run);
    for (let count = 0; count < 400; count++) {
      await step(world);
      const before = world.open.length;
      assert.equal(await world.ask(quiet, "bytes=2000"), 200);
      for (const one of world.open.splice(before)) one.close();
      world.check();
    }
    assert.ok(world.served > 50 && world.refused > 50, `${world.served} and ${world.refused}`);
    for (const one of world.open) one.close();
    await world.clock.advance(60_000);
    assert.equal(world.ledger.bytes, 0);
    assert.equal(world.seatsInUse(), 0);
    world.gate.close();
  });
}
