/** A stream over WebSocket, at its sink: what a client may send, and how either side ends it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure } from "#api/status.ts";
import type { ByteSink, PlainResponse } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { messageFrame } from "#wire/websocket/frames.ts";
import { clientFrame } from "#wire/websocket/testing/client-frame.ts";
import { opened } from "./testing/web-socket-client.ts";
import { FrameJoiner, jsonFormat } from "#forms/watch-frames.ts";
import { StreamTurns } from "./stream-turns.ts";
import { streamDeadlines, WatchStream } from "./watch-stream.ts";
import { messageFormat } from "#forms/websocket-format.ts";
import { switched } from "./websocket-stream.ts";

function setup() {
  const clock = new FakeClock();
  const state: { sink: ByteSink | undefined; closes: number } = { sink: undefined, closes: 0 };
  const stream: PlainResponse = {
    kind: "stream",
    status: 101,
    headers: {},
    open: (sink) => {
      state.sink = sink;
      return () => state.closes++;
    },
  };
  const client = opened(switched(clock, stream));
  const { sink } = state;
  if (sink === undefined) throw new Error("the stream was not opened");
  const opcodes = (): readonly number[] => client.messages.map(({ opcode }) => opcode);
  return { clock, client, sink, state, opcodes };
}

const ping = clientFrame(9, Buffer.from("there?"));

test("answers that switch nothing stay as they are", () => {
  const clock = new FakeClock();
  const plain: PlainResponse = { kind: "stream", status: 200, headers: {}, open: () => () => {} };
  assert.equal(switched(clock, plain), plain);
});

test("a client's messages are skipped, its pings are answered, and its close ends the stream once", async () => {
  const { clock, client, state } = setup();
  void client.send(
    Buffer.concat([
      clientFrame(1, Buffer.from("hello")),
      ping,
      clientFrame(2, Buffer.alloc(70_000)),
    ]),
  );
  assert.deepEqual(
    client.messages.map(({ opcode, payload }) => [opcode, payload.toString()]),
    [[10, "there?"]],
  );
  void client.send(clientFrame(8, Uint8Array.of(3, 0xe8)));
  assert.deepEqual(client.messages[1], { opcode: 8, payload: Buffer.of(3, 0xe8) });
  assert.equal(client.isEnded, true);
  client.leave();
  await clock.advance(0);
  assert.equal(state.closes, 1);
  assert.deepEqual(
    clock.timers().filter(({ name }) => name !== "server.websocket"),
    [],
  );
});

test("a client that ends its half, or breaks off, ends the stream", async () => {
  for (const way of ["leave", "abort"] as const) {
    const { clock, client, state, opcodes } = setup();
    client[way]();
    await clock.advance(0);
    assert.equal(state.closes, 1, way);
    assert.deepEqual(opcodes(), way === "leave" ? [8] : []);
  }
});

test("the server's end is one close frame with 1000, and who does not close is cut in time", async () => {
  const { clock, client, sink, state } = setup();
  sink.end();
  sink.end();
  assert.equal(sink.write([Buffer.from("late")]), true);
  assert.deepEqual(client.messages, [{ opcode: 8, payload: Buffer.of(3, 0xe8) }]);
  await clock.advance(9_999);
  assert.equal(client.isAborted, false);
  await clock.advance(1);
  assert.equal(client.isAborted, true);
  assert.equal(state.closes, 1);
});

test("pings of a client that does not read make nothing", async () => {
  const { clock, client, sink, opcodes } = setup();
  client.room = false;
  assert.equal(sink.write([Buffer.concat(messageFrame(false, Buffer.from("event")))]), false);
  for (let round = 0; round < 100; round++) void client.send(ping);
  assert.deepEqual(opcodes(), [1]);
  client.drain();
  await clock.advance(1_000);
  void client.send(ping);
  assert.deepEqual(opcodes(), [1, 10]);
});

test("a flood of frames is read at a frame per millisecond", async () => {
  const { clock, client } = setup();
  const empty = clientFrame(2, Buffer.alloc(0));
  const flood = Buffer.concat(Array.from({ length: 10_922 }, () => empty));
  let isRead = false;
  const held = Promise.resolve(client.send(flood)).then(() => (isRead = true));
  await clock.advance(999);
  assert.equal(isRead, false);
  await clock.advance(1);
  await held;
  assert.ok(isRead);
});

test("a frame that is not masked, or too long, ends the stream with 1002", () => {
  const long = Uint8Array.of(0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0);
  for (const bytes of [Buffer.concat(messageFrame(true, Buffer.from("x"))), long]) {
    const { client } = setup();
    void client.send(bytes);
    assert.deepEqual(client.messages, [{ opcode: 8, payload: Buffer.of(3, 0xea) }]);
  }
});

test("a watch that ends with an error says so in a message, and closes", () => {
  const clock = new FakeClock();
  const watch = new WatchStream(
    {
      deadlines: streamDeadlines(clock),
      joiner: new FrameJoiner(),
      turns: new StreamTurns(clock),
      open: new Set(),
      sent: { events: { count: 0 }, bytes: { observeTogether: () => {} } },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      timeoutMs: 1_000,
      allowBookmarks: false,
      convert: ({ object }) => object,
    },
  );
  watch.end(failure(410, "Expired", "too old resource version: 1 (9)"));
  const format = messageFormat(
    jsonFormat("json", () => new Uint8Array(0)),
    false,
  );
  const client = opened(switched(clock, watch.byteResponse(format, {}, 101)));
  assert.equal(client.events[0]?.type, "ERROR");
  const opcodes = client.messages.map(({ opcode }) => opcode);
  assert.deepEqual(opcodes, [1, 8]);
});
