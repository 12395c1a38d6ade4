/** Streams of HTTP/2, below gRPC. */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { FakeClock } from "#client/testing/fake-clock.ts";
import { Flag, frameHead, frameHeadBytes, FrameType, preface } from "#wire/grpc-frames.ts";
import { H2Connection, type OpenStream } from "./h2-connection.ts";
import type { Take } from "./h2-stream.ts";

const bandwidthPing = Buffer.of(2, 4, 16, 16, 9, 14, 7, 7);

/** Types and flags of the frames of one stream. */
function framesOf(bytes: Buffer, stream: number): { type: number; flags: number }[] {
  const found: { type: number; flags: number }[] = [];
  for (let at = 0; at < bytes.length; at += frameHeadBytes + bytes.readUIntBE(at, 3)) {
    const frame = { type: bytes[at + 3] as number, flags: bytes[at + 4] as number };
    if (bytes.readUInt32BE(at + 5) === stream) found.push(frame);
  }
  return found;
}

/** A connection over a socket of memory. `sent` is what has gone out, after a turn of the loop. */
function connected(open: OpenStream) {
  const out: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      out.push(chunk);
      done();
    },
  });
  new H2Connection(socket, new FakeClock(), { streamsPerConnectionMax: 10 }, open);
  const sent = async (): Promise<Buffer> => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (socket.writableLength > 0);
    return Buffer.concat(out.splice(0));
  };
  return { socket, sent };
}

const none: Take = { data: () => undefined, ended: () => undefined, closed: () => undefined };

void test("an answer without a body ends its stream", async () => {
  const status200 = Buffer.of(0x88);
  const { socket, sent } = connected((stream) => {
    stream.take = none;
    stream.reply(status200, Buffer.alloc(0));
  });
  const method = Buffer.of(0x82);
  const head = frameHead(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, method.length);
  socket.push(Buffer.concat([preface, head, method]));
  const headers = framesOf(await sent(), 1).filter(({ type }) => type === FrameType.headers);
  const last = headers.at(-1);
  assert.deepEqual(last, { type: FrameType.headers, flags: Flag.endHeaders | Flag.endStream });
});

void test("a ping is answered at once with its own bytes; grpc-go's bandwidth ping is not", async () => {
  const { socket, sent } = connected(() => undefined);
  const pingHead = frameHead(FrameType.ping, 0, 0, 8);
  const keepalive = Buffer.from("12345678");
  socket.push(Buffer.concat([preface, pingHead, bandwidthPing, pingHead, keepalive]));
  const bytes = await sent();
  const pings = framesOf(bytes, 0).filter(({ type }) => type === FrameType.ping);
  assert.deepEqual(pings, [{ type: FrameType.ping, flags: Flag.ack }]);
  assert(bytes.subarray(-8).equals(keepalive));
});

void test("a bandwidth ping's answer goes out behind the data that fills its measure", async () => {
  const { socket, sent } = connected((stream) => {
    stream.take = none;
    stream.reply(Buffer.of(0x88), Buffer.alloc(33 * 1024));
  });
  socket.push(Buffer.concat([preface, frameHead(FrameType.ping, 0, 0, 8), bandwidthPing]));
  assert.deepEqual(
    framesOf(await sent(), 0).filter(({ type }) => type === FrameType.ping),
    [],
  );
  const head = frameHead(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, 1);
  socket.push(Buffer.concat([head, Buffer.of(0x82)]));
  const bytes = await sent();
  assert(framesOf(bytes, 1).some(({ flags }) => (flags & Flag.endStream) !== 0));
  assert(bytes.subarray(-8).equals(bandwidthPing));
});
