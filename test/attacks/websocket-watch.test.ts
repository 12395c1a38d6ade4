/**
 * Clients of a watch over WebSocket that send what they like, in any pieces: nothing is thrown, what is kept and sent
 * for them is bounded, and what breaks the protocol ends the watch.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ByteSink } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { opened, type WebSocketClient } from "#server/testing/web-socket-client.ts";
import { switched } from "#server/websocket-stream.ts";
import { clientFrame } from "#wire/websocket/testing/client-frame.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
/** Bytes a pong or a close may add. */
const controlBytesMax = 127;

interface Watched {
  readonly client: WebSocketClient;
  readonly clock: FakeClock;
  readonly closes: { count: number };
  readonly sink: ByteSink;
}

function watched(): Watched {
  const clock = new FakeClock();
  const closes = { count: 0 };
  const sinks: ByteSink[] = [];
  const client = opened(
    switched(clock, {
      kind: "stream",
      status: 101,
      headers: {},
      open: (sink) => {
        sinks.push(sink);
        return () => closes.count++;
      },
    }),
  );
  const [sink] = sinks;
  assert.ok(sink !== undefined);
  return { client, clock, closes, sink };
}

const frame = fc
  .record({
    opcode: fc.nat(15),
    payload: fc.uint8Array({ maxLength: 200 }),
    isFinal: fc.boolean(),
  })
  .map(({ opcode, payload, isFinal }) => clientFrame(opcode, payload, { isFinal }));
const sent = fc.oneof(frame, frame, frame, fc.uint8Array({ maxLength: 40 }));

test("random frames and bytes end in a close, or are answered by a pong each at most", async () => {
  const property = fc.asyncProperty(
    fc.array(sent, { maxLength: 12 }),
    fc.integer({ min: 1, max: 64 }),
    async (pieces, cut) => {
      const { client, clock, closes } = watched();
      const bytes = Buffer.concat(pieces);
      for (let at = 0; at < bytes.length; at += cut) void client.send(bytes.subarray(at, at + cut));
      const out = client.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      assert.ok(out <= (pieces.length + 1) * controlBytesMax);
      const opcodes = client.messages.map(({ opcode }) => opcode);
      assert.ok(opcodes.every((one, at) => one === 10 || (one === 8 && at === opcodes.length - 1)));
      client.leave();
      await clock.advance(0);
      assert.equal(closes.count, 1);
      assert.equal(client.messages.at(-1)?.opcode, 8);
      assert.equal(
        clock.timers().some(({ dueMs }) => dueMs > 1_000),
        false,
        "nothing lingers",
      );
    },
  );
  await fc.assert(property, { seed, numRuns: 300 });
});

test("a client that floods pings and reads nothing costs one pong beyond its full socket", () => {
  const { client, sink } = watched();
  client.room = false;
  assert.equal(sink.write([Buffer.of(0x81, 1, 120)]), false);
  const flood = Buffer.concat(Array.from({ length: 9_000 }, () => clientFrame(9, Buffer.of(1))));
  for (let round = 0; round < 50; round++) void client.send(flood);
  assert.equal(client.messages.length, 1);
});

test("a frame of 32 MiB is skipped without being kept, a longer one ends the watch", () => {
  const { client } = watched();
  const head = (length: number): Uint8Array => {
    const bytes = Buffer.alloc(14);
    bytes.set([0x82, 0xff]);
    bytes.writeBigUInt64BE(BigInt(length), 2);
    return bytes;
  };
  const max = 32 * 1024 * 1024;
  void client.send(head(max));
  const piece = new Uint8Array(64 * 1024);
  for (let at = 0; at < max; at += piece.length) void client.send(piece);
  assert.deepEqual(client.messages, []);
  void client.send(head(max + 1));
  assert.deepEqual(client.messages, [{ opcode: 8, payload: Buffer.of(3, 0xea) }]);
});
