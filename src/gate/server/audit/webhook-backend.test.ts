/** Events to a webhook: batches, tries, what is lost and counted, and what a slow server may hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { StagedEvent } from "./event.ts";
import { WebhookBackend, type WebhookOptions } from "./webhook-backend.ts";

const options: WebhookOptions = {
  mode: "batch",
  target: "/events",
  headers: () => ({ authorization: "Bearer t" }),
  bufferBytesMax: 100_000,
  bufferLinesMax: 5,
  batchLinesMax: 3,
  batchBytesMax: 100_000,
  waitMs: 30_000,
  backoffMs: 10_000,
};

interface Posted {
  readonly items: readonly { readonly auditID: string }[];
}

class Server implements ByteTransport {
  readonly posts: string[][] = [];
  status = 200;
  #held: (() => void)[] | undefined;

  hold(): void {
    this.#held = [];
  }

  release(): void {
    for (const go of this.#held ?? []) go();
    this.#held = undefined;
  }

  async send({ body = new Uint8Array(0) }: ByteRequest): Promise<ByteResponse> {
    const list = JSON.parse(new TextDecoder().decode(body)) as Posted;
    this.posts.push(list.items.map(({ auditID }) => auditID));
    const held = this.#held;
    if (held !== undefined) await new Promise<void>((resolve) => held.push(resolve));
    const read = (): Promise<Uint8Array> => Promise.resolve(new Uint8Array(0));
    return { status: this.status, headers: {}, read, stream: () => Promise.resolve() };
  }

  close(): void {}
}

function event(auditID: string, isStranger = false): StagedEvent {
  const json = (): string => `"auditID":"${auditID}"`;
  const writer = { name: isStranger ? "192.0.2.1" : "alice", isStranger };
  return {
    stage: "ResponseComplete",
    level: "Metadata",
    json,
    truncatedJson: json,
    legacy: json,
    writer,
  };
}

function start(more: Partial<WebhookOptions> = {}) {
  const server = new Server();
  const clock = new FakeClock();
  const random = new FakeRandom(1);
  const deps = { transport: server, clock, random, log: silentLog };
  const backend = new WebhookBackend(deps, { ...options, ...more });
  const lost: string[] = [];
  const take = (one: StagedEvent): boolean | Promise<boolean> =>
    backend.take(one, (plugin, ofStranger) => lost.push(`${plugin} ${ofStranger}`));
  return { server, clock, backend, lost, take };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a full batch leaves at once, the rest after the wait", async () => {
  const { server, clock, take } = start();
  for (const id of ["a", "b", "c", "d"]) assert.equal(take(event(id)), true);
  await turn();
  assert.deepEqual(server.posts, [["a", "b", "c"]]);
  clock.tick(30_000);
  await turn();
  assert.deepEqual(server.posts, [["a", "b", "c"], ["d"]]);
});

test("beyond the buffer events are lost and counted, strangers' first", async () => {
  const { server, lost, take } = start({ throttle: { qps: 0.001, burst: 1 } });
  for (const id of ["a", "b", "c"]) void take(event(id));
  for (const id of ["s1", "s2", "s3", "s4"]) void take(event(id, true));
  for (const id of ["d", "e"]) void take(event(id));
  await turn();
  assert.deepEqual(server.posts, [["a", "b", "c"]]);
  assert.deepEqual(lost, ["buffered true"]);
});

test("a POST that fails is sent again, five times at most, then its events are lost and counted", async () => {
  const { server, clock, backend, lost, take } = start();
  server.status = 500;
  for (const id of ["a", "b", "c"]) void take(event(id));
  for (let attempt = 0; attempt < 8; attempt++) {
    await turn();
    clock.tick(120_000);
  }
  await turn();
  assert.equal(server.posts.length, 5);
  assert.deepEqual(
    lost,
    Array.from({ length: 3 }, () => "webhook false"),
  );
  assert.match(backend.problem() ?? "", /answered 500/);
});

test("mode blocking waits for the POST, and blocking-strict says when it failed", async () => {
  for (const mode of ["blocking", "blocking-strict"] as const) {
    const { server, clock, take } = start({ mode });
    server.hold();
    let stored: boolean | undefined;
    const taking = Promise.resolve(take(event("a"))).then((is) => (stored = is));
    await turn();
    assert.equal(stored, undefined);
    server.status = 500;
    server.release();
    for (let attempt = 0; attempt < 8; attempt++) {
      await turn();
      clock.tick(120_000);
    }
    await taking;
    assert.equal(stored, mode === "blocking");
  }
});

test("a server that does not answer holds eight batches, and the buffer the rest", async () => {
  const { server, lost, take } = start({ batchLinesMax: 1 });
  server.hold();
  for (let at = 0; at < 20; at++) void take(event(`${at}`));
  await turn();
  assert.equal(server.posts.length, 8);
  assert.equal(lost.length, 20 - 8 - 5);
});

test("what is left is sent when it closes", async () => {
  const { server, backend, take } = start();
  for (const id of ["a", "b"]) void take(event(id));
  await backend.close();
  assert.deepEqual(server.posts, [["a", "b"]]);
});
