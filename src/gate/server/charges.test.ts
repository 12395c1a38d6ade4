/** The chain with a small ledger: what a request, an answer and a stream hold, for how long, and what comes at a limit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alwaysAllow } from "#auth/testing/always-allow.ts";
import {
  answerRunBytes,
  type BeginningListener,
  type ByteSink,
  type PlainHandler,
  type PlainRequest,
  type PlainResponse,
} from "#platform/http.ts";
import { Ledger } from "#platform/ledger.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createChain } from "./chain.ts";
import { charge, chargeDecoding, describeLedger } from "./charges.ts";
import type { RequestContext } from "./context.ts";
import type { Gate } from "./gate.ts";
import { AccessMetrics } from "./access-metrics.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { RequestMetrics } from "./metrics.ts";

const limits = {
  callerBytesMax: 400_000,
  namespaceBytesMax: 600_000,
  totalBytesMax: 2_000_000,
  reservedBytes: 200_000,
  smallBytesMax: 10_000,
  sharedAnswerBytesMax: 50_000,
  accountsMax: 100,
};

const explained = {
  level: "workload-low",
  schema: "Schema; level=x",
  flow: "ann",
  seats: 3,
  finalSeats: 0,
  queuedMs: 1.26,
};

function setup(handler: (context: RequestContext) => Promise<PlainResponse>) {
  const clock = new FakeClock();
  const ledger = new Ledger(limits);
  const metrics = new MetricSet();
  describeLedger(metrics, ledger);
  const seats = { taken: 0, linger: true, stalled: 0, forgotten: 0 };
  const gate: Gate = {
    enter: () => {
      seats.taken++;
      return Promise.resolve({
        kind: "seated",
        headers: {},
        release: () => seats.taken--,
        linger: () => seats.linger,
        stall: () => seats.stalled++,
        forget: () => seats.forgotten++,
        explain: () => explained,
        rest: () => {},
        goOn: () => {},
      });
    },
  };
  const chain: PlainHandler = createChain(
    {
      clock,
      random: new FakeRandom(1),
      log: silentLog,
      authenticator: {
        authenticate: ({ headers }) => {
          const name = headers["user"] ?? "system:anonymous";
          return Promise.resolve({ kind: "user", user: { name, groups: [] } });
        },
      },
      authorizer: {
        ...alwaysAllow,
        authorize: (asked) =>
          asked.user.name === nobody && asked.path.startsWith("/debug/")
            ? { allowed: false, denied: false, reason: "" }
            : alwaysAllow.authorize(asked),
      },
      gate,
      metrics: new RequestMetrics(metrics),
      ledger,
      scopeOf: () => "namespaced",
      isServed: () => true,
      accessMetrics: new AccessMetrics(clock, new MetricSet()),
    },
    { requestTimeoutMs: 60_000 },
    handler,
  );
  return { chain, clock, ledger, seats, metrics };
}

/** May everything but see how others are served. */
const nobody = "eve";

const pods = "/api/v1/namespaces/green/pods";
const blue = "/api/v1/namespaces/blue/pods";

function request(user: string, options: Partial<PlainRequest> = {}): PlainRequest {
  return {
    method: "GET",
    path: pods,
    query: "",
    headers: user === "" ? {} : { user },
    body: { kind: "none" },
    peer: { kind: "socket", address: "10.0.0.7" },
    signal: new AbortController().signal,
    ...options,
  };
}

const bytes = (length: number, more: Partial<PlainResponse> = {}): PlainResponse =>
  ({ kind: "bytes", status: 200, headers: {}, body: [new Uint8Array(length)], ...more }) as never;

function leave(response: PlainResponse): void {
  assert.equal(response.kind, "bytes");
  if (response.kind === "bytes") response.left?.();
}

const textOf = (response: PlainResponse): string =>
  response.kind === "bytes" ? Buffer.concat(response.body).toString() : response.kind;

test("an answer is charged to its user and namespace until it has left", async () => {
  const { chain, ledger } = setup(async () => bytes(100_000));
  const answer = await chain(request("ann"));
  assert.equal(ledger.held("answer"), 200_000);
  assert.equal(ledger.heldBy("user:ann"), 200_000);
  assert.equal(ledger.heldBy("namespace:green"), 200_000);
  leave(answer);
  leave(answer);
  assert.equal(ledger.bytes, 0);
});

test("a caller that reads nothing gets 429 with a text and Retry-After, and others are served", async () => {
  const { chain, ledger, seats } = setup(async () => bytes(100_000));
  const unread = [await chain(request("ann")), await chain(request("ann"))];
  const third = await chain(request("ann"));
  assert.equal(third.status, 429);
  assert.equal(third.headers["retry-after"], "1");
  assert.match(textOf(third), /the limit of 391 KiB of one caller is reached: 196 KiB more/);
  assert.equal((await chain(request("bob", { path: blue }))).status, 200);
  for (const one of [...unread, third]) leave(one);
  assert.equal((await chain(request("ann"))).status, 200);
  assert.equal(ledger.refused("caller"), 1);
  assert.equal(seats.taken, 2);
});

test("what a caller could never hold is 413", async () => {
  const { chain } = setup(async () => bytes(300_000));
  const answer = await chain(request("ann"));
  assert.equal(answer.status, 413);
  assert.match(textOf(answer), /ask for less at once/);
});

test("callers without a name are told apart by address, and the tenants of a namespace add up", async () => {
  const { chain, ledger } = setup(async () => bytes(80_000));
  await chain(request(""));
  assert.equal(ledger.heldBy("address:10.0.0.7"), 160_000);
  await chain(request("", { peer: { kind: "socket", address: "10.0.0.8" } }));
  assert.equal(ledger.heldBy("address:10.0.0.8"), 160_000);
  const account = request("system:serviceaccount:blue:robot", { path: "/version" });
  await chain(account);
  assert.equal(ledger.heldBy("namespace:blue"), 160_000);
});

test("pieces that others share are charged up to a bound, and what the transport copies of them", async () => {
  const { chain, ledger } = setup(async () => bytes(5_000_000, { isShared: true } as object));
  const answer = await chain(request("ann"));
  assert.equal(answer.status, 200);
  assert.equal(ledger.held("answer"), 50_000 + answerRunBytes);
  leave(answer);
  assert.equal(ledger.bytes, 0);
});

test("a body is charged as it arrives and while it is decoded, and is given back when its handler ends", async () => {
  const seen: number[] = [];
  const { chain, ledger } = setup(async ({ request: { body }, holding }) => {
    assert.equal(body.kind, "bytes");
    if (body.kind === "bytes") await body.read(10_000, holding);
    seen.push(ledger.held("body"));
    chargeDecoding(holding, 1_000);
    seen.push(ledger.held("object"));
    return bytes(0);
  });
  const read: (limit: number, holding: RequestContext["holding"]) => Promise<Uint8Array> = async (
    _limit,
    holding,
  ) => {
    charge(holding, "body", 1_000);
    return new Uint8Array(1_000);
  };
  await chain(request("ann", { method: "POST", body: { kind: "bytes", read } }));
  assert.deepEqual(seen, [1_000, 4_000]);
  assert.equal(ledger.held("body") + ledger.held("object"), 0);
});

test("a refusal inside of a handler is the answer, and gives back what the handler held", async () => {
  const { chain, ledger } = setup(async ({ holding }) => {
    for (;;) charge(holding, "snapshot", 50_000);
  });
  const answer = await chain(request("ann"));
  assert.equal(answer.status, 429);
  leave(answer);
  assert.equal(ledger.bytes, 0);
});

const sink: ByteSink = { write: () => true, onDrain: () => {}, end: () => {}, closed: false };

function streaming() {
  const opened = { now: 0, ever: 0 };
  const made = setup(async () => ({
    kind: "stream",
    status: 200,
    headers: {},
    open: () => {
      opened.now++;
      opened.ever++;
      return () => opened.now--;
    },
  }));
  return { ...made, opened };
}

test("a watch is charged with its selector until it closes", async () => {
  const { chain, ledger } = streaming();
  const quiet = await chain(request("ann", { query: "watch=1" }));
  const before = ledger.held("watch");
  assert.ok(before > 0 && before < 10_000);
  const query = `watch=1&labelSelector=${",!a".repeat(1_000)}`;
  const long = await chain(request("ann", { query }));
  assert.ok(ledger.held("watch") > 100_000);
  for (const one of [long, quiet]) if (one.kind === "stream") one.open(sink)();
  assert.equal(ledger.held("watch"), 0);
});

test("a watch beyond the limit is refused before its handler runs, any other stream after it", async () => {
  const { chain, ledger, opened } = streaming();
  const query = `watch=1&labelSelector=${",!a".repeat(2_500)}`;
  const first = await chain(request("ann", { query }));
  assert.equal(first.status, 200);
  const second = await chain(request("ann", { query }));
  assert.equal(second.status, 429);
  assert.equal(opened.ever, 0);
  leave(second);
  const logs = `${pods}/one/log`;
  const other = await chain(request("ann", { path: logs, query: query.replace("watch", "w") }));
  assert.equal(other.status, 429);
  assert.deepEqual(opened, { now: 0, ever: 1 });
  leave(other);
  if (first.kind === "stream") first.open(sink)();
  assert.equal(ledger.bytes, 0);
});

test("a failed watch leaves nothing behind", async () => {
  const { chain, ledger } = setup(() => Promise.reject(new Error("no")));
  leave(await chain(request("ann", { query: "watch=1" })));
  assert.equal(ledger.bytes, 0);
});

test("the seat of a long answer is held until it has left, if its level lets it", async () => {
  const { chain, seats } = setup(async () => bytes(100_000));
  const answer = await chain(request("ann"));
  assert.equal(seats.taken, 1);
  leave(answer);
  leave(answer);
  assert.equal(seats.taken, 0);
  seats.linger = false;
  await chain(request("ann"));
  assert.equal(seats.taken, 0);
});

test("a reader that stands still keeps its seat for half a second, and its bytes until it has left", async () => {
  const { chain, seats, clock, ledger } = setup(async () => bytes(100_000));
  const answer = await chain(request("ann"));
  await clock.advance(499);
  assert.equal(seats.stalled, 0);
  await clock.advance(1);
  assert.deepEqual([seats.stalled, seats.taken], [1, 1], "the gate hears so, and when it has left");
  assert.equal(ledger.held("answer"), 200_000);
  await clock.advance(60_000);
  leave(answer);
  assert.deepEqual([seats.stalled, seats.taken], [1, 0]);
});

test("a slow reader keeps its seat, but no longer than a short request may take", async () => {
  const { chain, seats, clock } = setup(async () => bytes(100_000));
  const answer = await chain(request("ann"));
  const move = (): void => (answer.kind === "bytes" ? answer.moved?.() : undefined);
  for (let elapsedMs = 0; elapsedMs < 59_600; elapsedMs += 400) {
    move();
    await clock.advance(400);
    assert.equal(seats.stalled, 0);
  }
  move();
  await clock.advance(400);
  assert.equal(seats.stalled, 1);
});

test("short answers and those to callers in this process give their seat back at once", async () => {
  const short = setup(async () => bytes(60_000));
  await short.chain(request("ann"));
  assert.equal(short.seats.taken, 0);
  const direct = setup(async () => bytes(100_000));
  const user = { name: "ann", groups: [] };
  await direct.chain(request("ann", { peer: { kind: "direct", user } }));
  assert.equal(direct.seats.taken, 0);
  assert.equal(direct.ledger.bytes, 0);
});

test("a handler that ends after the deadline keeps neither seat nor bytes", async () => {
  const end = Promise.withResolvers<void>();
  const { chain, clock, seats, ledger } = setup(async ({ holding }) => {
    charge(holding, "snapshot", 5_000);
    await end.promise;
    return bytes(100_000);
  });
  const late = chain(request("ann"));
  await settle();
  await clock.advance(60_000);
  const answer = await late;
  assert.equal(answer.status, 504);
  leave(answer);
  assert.equal(ledger.held("snapshot"), 5_000);
  assert.equal(seats.taken, 1);
  end.resolve();
  await settle();
  assert.equal(ledger.bytes, 0);
  assert.equal(seats.taken, 0);
});

test("metrics say what is held and what was refused", async () => {
  const { chain, metrics } = setup(async () => bytes(150_000));
  await chain(request("ann"));
  await chain(request("ann"));
  const text = metrics.text();
  assert.match(text, /pilothouse_held_bytes\{kind="answer"\} 300\d\d\d/);
  assert.match(text, /pilothouse_held_refusals_total\{by="caller"\} 1/);
  assert.match(text, /pilothouse_held_bytes_limit\{by="process"\} 2000000/);
});

/** A watch whose initial events are taken by `listener`. */
function beginning() {
  const heard: { listener?: BeginningListener; ended: number } = { ended: 0 };
  const answer: PlainResponse = {
    kind: "stream",
    status: 200,
    headers: {},
    begins: (listener) => void (heard.listener = listener),
    open: () => () => heard.ended++,
  };
  return { heard, answer };
}

const watching = { query: "watch=1" };

test("the seat of a watch is held until its initial events are sent, and it counts until it ends", async () => {
  const { heard, answer } = beginning();
  const { chain, seats, clock } = setup(async () => answer);
  const response = await chain(request("ann", watching));
  assert.equal(response.kind, "stream");
  const close = response.kind === "stream" ? response.open(sink) : () => {};
  assert.equal(seats.taken, 1);
  await clock.advance(400);
  heard.listener?.moved();
  await clock.advance(400);
  assert.deepEqual([seats.taken, seats.stalled], [1, 0]);
  heard.listener?.left();
  heard.listener?.left();
  assert.deepEqual([seats.taken, seats.forgotten], [0, 0]);
  close();
  assert.equal(seats.forgotten, 1);
});

test("a watch that fails, is refused or cut short gives back its seat and its place", async () => {
  const failing = setup(() => Promise.reject(new Error("no")));
  leave(await failing.chain(request("ann", watching)));
  assert.deepEqual([failing.seats.taken, failing.seats.forgotten], [0, 1]);
  const { heard, answer } = beginning();
  const still = setup(async () => answer);
  const response = await still.chain(request("ann", watching));
  const close = response.kind === "stream" ? response.open(sink) : () => {};
  await still.clock.advance(500);
  assert.equal(still.seats.stalled, 1, "its reader stands still");
  heard.listener?.left();
  close();
  assert.deepEqual([still.seats.taken, still.seats.forgotten], [0, 1]);
});

test("an explanation is for those who ask, and who may", async () => {
  const handler = async ({ explanation }: RequestContext): Promise<PlainResponse> => {
    if (explanation !== undefined) explanation.index = "namespace";
    return bytes(10);
  };
  const name = "x-pilothouse-explain";
  const ask = async (user: string, value = "1") => {
    const headers = { user, [name]: value };
    return (await setup(handler).chain(request(user, { headers }))).headers[name];
  };
  assert.equal(
    await ask("ann"),
    "level=workload-low; schema=Schema%3B%20level%3Dx; flow=ann; seats=3; finalSeats=0; queuedMs=1.3; source=store; index=namespace",
  );
  assert.equal(await ask("ann", "0"), undefined);
  assert.equal(
    await ask(nobody),
    "denied; needs=get%20%2Fdebug%2Fapi_priority_and_fairness%2Fexplain",
  );
});
