/** Seats for reads of a relay: when they are taken and given back; and shares of flows beside an oracle. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import { createGate, gateDefaults } from "#flowcontrol/gate.ts";
import { maxMin } from "#flowcontrol/testing/max-min.ts";
import type { PlainResponse, UserInfo } from "#platform/http.ts";
// uncharged: nothing is held here.
import { uncharged } from "#platform/ledger.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { requestInfo } from "#server/request-info.ts";
import { plain } from "../testing/relay-world.ts";
import { Watching } from "../testing/relay-fixture.ts";
import type { Asked } from "./asked.ts";
import { innerEntryPoint } from "./entry-point.ts";
import { Fairness } from "./fairness.ts";

const group = "flowcontrol.apiserver.k8s.io";
const path = "/api/v1/pods";
const outside = { ...innerEntryPoint, isOwn: false };
const socket = { kind: "socket", address: "10.0.0.1" } as const;

/** One level for everybody, with a queue for each flow. */
function levelFor(watchesMax: string): AnyObject {
  return {
    apiVersion: `${group}/v1`,
    kind: "PriorityLevelConfiguration",
    metadata: {
      name: "all",
      annotations: { "flowcontrol.pilothouse.dev/watches-max": watchesMax },
    },
    spec: {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 1_000_000,
        limitResponse: {
          type: "Queue",
          queuing: { queues: 1_024, handSize: 1, queueLengthLimit: 100_000 },
        },
      },
    },
  };
}

const everything = {
  subjects: [{ kind: "User", user: { name: "*" } }],
  resourceRules: [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true },
  ],
};
const schema: AnyObject = {
  apiVersion: `${group}/v1`,
  kind: "FlowSchema",
  metadata: { name: "all" },
  spec: {
    priorityLevelConfiguration: { name: "all" },
    matchingPrecedence: 1,
    distinguisherMethod: { type: "ByUser" },
    rules: [everything],
  },
};

class World {
  readonly clock = new FakeClock();
  readonly #gate;
  readonly fairness: Fairness;

  constructor(seats: number, { watchesMax = "", queueWaitMs = 15_000 } = {}) {
    const objects = [schema, levelFor(watchesMax)];
    const lookup = {
      get: () => undefined,
      list: ({ resource }: { resource: string }) =>
        objects.filter(({ kind = "" }) => `${kind.toLowerCase()}s` === resource),
    };
    const { clock } = this;
    this.#gate = createGate({ clock, lookup }, { ...gateDefaults, seats, queueWaitMs });
    this.fairness = new Fairness({ clock, gate: this.#gate });
  }

  get seatsInUse(): number {
    return this.#gate.levels().reduce((sum, level) => sum + level.seatsInUse, 0);
  }

  ask(
    name: string,
    serve: () => Promise<PlainResponse | "pass">,
    { watch = false, door = outside } = {},
  ): Promise<PlainResponse | "pass"> {
    const query = new URLSearchParams(watch ? "watch=1" : "");
    const caller: UserInfo = { name, groups: ["system:authenticated"] };
    const request = { ...plain("GET", path, {}, caller), peer: socket };
    const asked: Asked = { request, query, door, caller, holding: uncharged };
    return this.fairness.seated(asked, requestInfo("GET", path, query), serve);
  }
}

const short: PlainResponse = { kind: "bytes", status: 200, headers: {}, body: [] };
const long: PlainResponse = { ...short, body: [new Uint8Array(1_000_000)] };

function watchStream(closed: () => void): PlainResponse {
  return { kind: "stream", status: 200, headers: {}, open: () => closed };
}

void describe("a seat of the relay", () => {
  void it("is given back when a short answer is made, passes on, or fails", async () => {
    const world = new World(1);
    for (const answer of [short, "pass"] as const) {
      const given = await world.ask("ann", async () => {
        assert.equal(world.seatsInUse, 1);
        return answer;
      });
      assert.equal(given === "pass", answer === "pass");
      assert.equal(world.seatsInUse, 0);
    }
    await assert.rejects(world.ask("ann", () => Promise.reject(new Error("no"))));
    assert.equal(world.seatsInUse, 0);
  });

  void it("is kept until a long answer has left: the next one waits", async () => {
    const world = new World(1);
    const first = await world.ask("ann", () => Promise.resolve(long));
    let isServed = false;
    const second = world.ask("bob", () => {
      isServed = true;
      return Promise.resolve(short);
    });
    await world.clock.advance(100);
    assert.deepEqual([world.seatsInUse, isServed], [1, false]);
    assert.ok(first !== "pass" && first.kind === "bytes");
    first.left?.();
    await second;
    assert.deepEqual([world.seatsInUse, isServed], [0, true]);
    first.left?.();
    assert.equal(world.seatsInUse, 0, "given back once");
  });

  void it("goes back when the reader stands still", async () => {
    const world = new World(1);
    const answer = await world.ask("ann", () => Promise.resolve(long));
    await world.clock.advance(600);
    assert.equal(world.seatsInUse, 0);
    assert.ok(answer !== "pass" && answer.kind === "bytes");
    answer.left?.();
    assert.equal(world.seatsInUse, 0);
  });

  void it("is refused with 429 when its time to wait is over, with the level's headers", async () => {
    const world = new World(1, { queueWaitMs: 1_000 });
    const first = await world.ask("ann", () => Promise.resolve(long));
    assert.ok(first !== "pass" && first.kind === "bytes");
    const waiting = world.ask("bob", () => assert.fail("it has no seat"));
    for (let ms = 0; ms < 1_100; ms += 100) {
      first.moved?.();
      await world.clock.advance(100);
    }
    const refused = await waiting;
    assert.ok(refused !== "pass");
    assert.equal(refused.status, 429);
    assert.ok("x-kubernetes-pf-prioritylevel-uid" in refused.headers);
    assert.ok(Number(refused.headers["retry-after"]) >= 1);
    first.left?.();
    assert.equal(world.seatsInUse, 0);
  });

  void it("is not for the relay's own workers", async () => {
    const world = new World(1);
    await world.ask(
      "ann",
      async () => {
        assert.equal(world.seatsInUse, 0);
        return short;
      },
      { door: innerEntryPoint },
    );
  });

  void it("leaves watches open up to the level's number, until they close", async () => {
    const world = new World(10, { watchesMax: "2" });
    let closed = 0;
    const open = () => Promise.resolve(watchStream(() => closed++));
    const held: (() => void)[] = [];
    for (let at = 0; at < 2; at++) {
      const answer = await world.ask("ann", open, { watch: true });
      assert.ok(answer !== "pass" && answer.kind === "stream");
      held.push(answer.open(new Watching()));
    }
    const refused = await world.ask("bob", open, { watch: true });
    assert.ok(refused !== "pass");
    assert.equal(refused.status, 429);
    held[0]?.();
    held[0]?.();
    const next = await world.ask("bob", open, { watch: true });
    assert.ok(next !== "pass" && next.status === 200, "one has closed, and no more than one");
    const another = await world.ask("bob", open, { watch: true });
    assert.ok(another !== "pass" && another.status === 429);
    assert.deepEqual([world.seatsInUse, closed > 0], [0, true]);
  });
});

interface Flow {
  /** Seat-seconds that it asks for in a second. */
  readonly rate: number;
  readonly workMs: number;
}

const runMs = 12_000;

/** Reads come at even times, each flow's from a user of its own. @returns seat-seconds that each flow got. */
async function simulate(flows: readonly Flow[], seats: number): Promise<readonly number[]> {
  const world = new World(seats, { queueWaitMs: 10 * runMs });
  const { clock } = world;
  const got = flows.map(() => 0);
  const askOn = (at: number, { rate, workMs }: Flow): void => {
    const serve = async (): Promise<PlainResponse> => {
      await new Promise<void>((resolve) => clock.after("relay.fresh", workMs, resolve));
      if (clock.monotonicMs() <= runMs) got[at] = (got[at] ?? 0) + workMs / 1_000;
      return short;
    };
    void world.ask(`user-${at}`, serve);
    if (clock.monotonicMs() < runMs)
      clock.after("relay.review", workMs / rate, () => askOn(at, { rate, workMs }));
  };
  for (const [at, flow] of flows.entries()) askOn(at, flow);
  await clock.advance(runMs);
  return got;
}

const flow = fc.record({
  rate: fc.integer({ min: 1, max: 40 }).map((tenths) => tenths / 10),
  workMs: fc.integer({ min: 100, max: 400 }),
});

void describe("users of a relay", () => {
  void it("get their max-min shares of its seats, whatever they ask for", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(flow, { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        async (flows, seats) => {
          const got = await simulate(flows, seats);
          const rates = flows.map(({ rate }) => rate);
          // As at the API server: what may be under way or wait at the end, of the longest kind.
          const longestSeconds = Math.max(...flows.map(({ workMs }) => workMs)) / 1_000;
          const bound = (2 * seats + flows.length) * longestSeconds;
          for (const [at, share] of maxMin(rates, seats).entries()) {
            const fair = (share * runMs) / 1_000;
            const difference = Math.abs((got[at] ?? 0) - fair);
            assert.ok(difference <= bound, `flow ${at} got ${got[at]} of ${fair}, bound ${bound}`);
          }
        },
      ),
      { numRuns: 20 },
    );
  });
});
