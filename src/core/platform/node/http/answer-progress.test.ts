/** Which answers are cut and when, on virtual time; and real connections that nobody reads. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { FakeClock } from "../../testing/clock.ts";
import { roomyLedger } from "../../testing/roomy-ledger.ts";
import type { ByteSink, PlainHandler, PlainResponse } from "../../http.ts";
import { silentLog } from "../../log.ts";
import { AnswerProgress, type Unsent } from "./answer-progress.ts";
import { Backlog } from "./backlog.ts";
import { httpLimits, listen, type Listening } from "./http.ts";

const limits = { stallMs: 8_000, streamStallMs: 80_000 };

class Answer implements Unsent {
  movedAt = 0;
  isOver = false;
  cuts = 0;
  readonly isStream: boolean;

  constructor(isStream = false) {
    this.isStream = isStream;
  }

  cut(): void {
    this.cuts++;
  }
}

function setup() {
  const clock = new FakeClock();
  const state = { isTight: false };
  const progress = new AnswerProgress(clock, limits, () => state.isTight);
  return { clock, state, progress };
}

test("an answer that stands still is cut once, one that moves is not", async () => {
  const { clock, progress } = setup();
  const [still, moving] = [new Answer(), new Answer()];
  progress.begin(still);
  progress.begin(moving);
  for (let second = 0; second < 30; second++) {
    await clock.advance(1_000);
    if (second % 5 === 0) progress.moved(moving);
    if (second < 7) assert.equal(still.cuts, 0);
  }
  assert.deepEqual([still.cuts, moving.cuts, progress.cut, progress.unsent], [1, 0, 1, 1]);
  progress.done(moving);
  await clock.advance(60_000);
  assert.equal(moving.cuts, 0);
});

test("what ended in another way is forgotten, and no timer is left", async () => {
  const { clock, progress } = setup();
  const gone = new Answer();
  progress.begin(gone);
  gone.isOver = true;
  await clock.advance(1_000);
  assert.deepEqual([gone.cuts, progress.unsent], [0, 0]);
  assert.deepEqual(clock.timers(), []);
});

test("a stream may stand still for longer; while the ledger is tight both end sooner", async () => {
  const { clock, progress, state } = setup();
  const stream = new Answer(true);
  progress.begin(stream);
  await clock.advance(79_000);
  assert.equal(stream.cuts, 0);
  await clock.advance(3_000);
  assert.equal(stream.cuts, 1);
  state.isTight = true;
  const [answer, other] = [new Answer(), new Answer(true)];
  progress.begin(answer);
  progress.begin(other);
  await clock.advance(2_000);
  assert.deepEqual([answer.cuts, other.cuts], [1, 0]);
  await clock.advance(8_000);
  assert.equal(other.cuts, 1);
});

test("frames that wait are charged until they are taken; a stream that may hold no more is cut", () => {
  const { progress } = setup();
  const ledger = roomyLedger({ callerBytesMax: 1_000, smallBytesMax: 0 });
  const holding = ledger.open("user:ann");
  const full = { destroyed: false, destroy: () => (full.destroyed = true) };
  const backlog = new Backlog(progress, holding, full);
  backlog.add(400);
  backlog.add(400);
  assert.equal(ledger.held("frames"), 800);
  assert.equal(progress.unsent, 1);
  backlog.clear();
  assert.deepEqual([ledger.held("frames"), progress.unsent, full.destroyed], [0, 0, false]);
  backlog.add(600);
  backlog.add(600);
  assert.equal(full.destroyed, true);
  assert.equal(ledger.held("frames"), 600);
  holding.close();
  backlog.clear();
  assert.equal(ledger.bytes, 0);
});

/** More than any socket takes by itself. */
const unreadBytes = 64 * 2 ** 20;
const stalling = { ...httpLimits, stallMs: 80, streamStallMs: 80 };

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const authority = makeAuthority("test-ca", issue);
const served = makeServerCertificate(authority, "server", ["localhost"], issue);

interface Unread {
  readonly handler: PlainHandler;
  /** Resolves when an answer has left, or its stream was closed. */
  readonly left: Promise<void>;
}

function whole(piece: number): Unread {
  const { promise, resolve } = Promise.withResolvers<void>();
  const body = Array.from({ length: unreadBytes / piece }, () => new Uint8Array(piece));
  const answer: PlainResponse = { kind: "bytes", status: 200, headers: {}, body, left: resolve };
  return { handler: async () => answer, left: promise };
}

function streamed(): Unread {
  const { promise, resolve } = Promise.withResolvers<void>();
  const open = (sink: ByteSink): (() => void) => {
    sink.write([new Uint8Array(unreadBytes)]);
    return resolve;
  };
  return {
    handler: async () => ({ kind: "stream", status: 200, headers: {}, open }),
    left: promise,
  };
}

const request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

async function asked(server: Listening, text: string): Promise<Socket> {
  const socket = connect(server.address.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.pause();
  socket.write(text);
  return socket;
}

const shapes: readonly (readonly [string, () => Unread])[] = [
  ["one large piece", () => whole(unreadBytes)],
  ["many pieces", () => whole(2 ** 16)],
  ["a stream", streamed],
];

for (const [shape, make] of shapes) {
  for (const ownHttp1 of [false, true]) {
    test(`HTTP/1.1, own ${ownHttp1}: ${shape} that nobody reads ends its connection`, async () => {
      const { handler, left } = make();
      const at = { host: "127.0.0.1", port: 0, limits: stalling, ownHttp1 };
      const server = await listen(at, handler, silentLog);
      const socket = await asked(server, request);
      await left;
      socket.destroy();
      await server.close(1_000);
    });
  }

  test(`HTTP/2 with a window of nothing: ${shape} ends its stream, and its connection goes on`, async () => {
    const { certificate, privateKey } = served;
    const { handler, left } = make();
    const small: PlainResponse = { kind: "bytes", status: 204, headers: {}, body: [] };
    const server = await listen(
      { host: "127.0.0.1", port: 0, key: privateKey, cert: certificate, limits: stalling },
      (given) => (given.path === "/small" ? Promise.resolve(small) : handler(given)),
      silentLog,
    );
    const client = connectHttp2(`https://localhost:${server.address.port}`, {
      ca: authority.certificate,
      settings: { initialWindowSize: 0 },
    });
    const stuck = client.request({ ":path": "/" });
    stuck.on("error", () => {});
    await left;
    const next = client.request({ ":path": "/small" });
    const [headers] = (await once(next, "response")) as [Record<string, unknown>];
    assert.equal(headers[":status"], 204);
    client.destroy();
    await server.close(1_000);
  });
}
