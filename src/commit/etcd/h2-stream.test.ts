/** Streams of HTTP/2, below gRPC. */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import type { Clock } from "#platform/clock.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { Flag, frameHead, frameHeadBytes, FrameType, preface } from "#wire/grpc-frames.ts";
import { H2Connection, type OpenStream } from "./h2-connection.ts";
import { recommendedH2Limits, type H2Limits } from "./h2-limits.ts";
import type { H2Stream, Take } from "./h2-stream.ts";
import { ServerLoad } from "./server-load.ts";

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
function connected(
  open: OpenStream,
  limits: Partial<H2Limits> = {},
  clock: Clock = new FakeClock(),
) {
  const out: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      out.push(chunk);
      done();
    },
  });
  const all = { ...recommendedH2Limits, ...limits };
  const load = new ServerLoad(clock, all);
  new H2Connection(socket, { clock, load }, all, open);
  const sent = async (): Promise<Buffer> => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (socket.writableLength > 0);
    return Buffer.concat(out.splice(0));
  };
  return { socket, sent, load };
}

/** What a client begins with, and the least head of a request: GET of / by http. */
const hello = Buffer.concat([preface, frameHead(FrameType.settings, 0, 0, 0)]);
const get = Buffer.of(0x82, 0x84, 0x86);

const none: Take = { data: () => undefined, ended: () => undefined, closed: () => undefined };

void test("an answer without a body ends its stream", async () => {
  const status200 = Buffer.of(0x88);
  const { socket, sent } = connected((stream) => {
    stream.take = none;
    stream.reply(status200, Buffer.alloc(0));
  });
  const head = frameHead(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, get.length);
  socket.push(Buffer.concat([hello, head, get]));
  const headers = framesOf(await sent(), 1).filter(({ type }) => type === FrameType.headers);
  const last = headers.at(-1);
  assert.deepEqual(last, { type: FrameType.headers, flags: Flag.endHeaders | Flag.endStream });
});

void test("a ping is answered at once with its own bytes; grpc-go's bandwidth ping is not", async () => {
  const { socket, sent } = connected(() => undefined);
  const pingHead = frameHead(FrameType.ping, 0, 0, 8);
  const keepalive = Buffer.from("12345678");
  socket.push(Buffer.concat([hello, pingHead, bandwidthPing, pingHead, keepalive]));
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
  socket.push(Buffer.concat([hello, frameHead(FrameType.ping, 0, 0, 8), bandwidthPing]));
  assert.deepEqual(
    framesOf(await sent(), 0).filter(({ type }) => type === FrameType.ping),
    [],
  );
  const head = frameHead(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, get.length);
  socket.push(Buffer.concat([head, get]));
  const bytes = await sent();
  assert(framesOf(bytes, 1).some(({ flags }) => (flags & Flag.endStream) !== 0));
  assert(bytes.subarray(-8).equals(bandwidthPing));
});

/** The request of a stream, whole, and the reset of one. */
const request = (id: number): Buffer =>
  Buffer.concat([
    frameHead(FrameType.headers, Flag.endHeaders | Flag.endStream, id, get.length),
    get,
  ]);
const resetOf = (id: number): Buffer =>
  Buffer.concat([frameHead(FrameType.reset, 0, id, 4), Buffer.of(0, 0, 0, 8)]);

void test("a stream that is reset while its call runs keeps its slot until the call is over", async () => {
  const streams: H2Stream[] = [];
  const open = (stream: H2Stream): void => {
    stream.take = none;
    stream.run(100);
    streams.push(stream);
  };
  const { socket, sent, load } = connected(open, { streamsPerConnectionMax: 2 });
  socket.push(Buffer.concat([hello, request(1), resetOf(1), request(3), resetOf(3), request(5)]));
  const refused = framesOf(await sent(), 5);
  assert.deepEqual(refused, [{ type: FrameType.reset, flags: 0 }]);
  assert.deepEqual([streams.length, load.streams], [2, 2]);
  streams[0]?.rest();
  socket.push(request(7));
  await sent();
  assert.deepEqual([streams.length, load.streams], [3, 2]);
  for (const stream of streams) stream.rest();
  // The last of them is open, and was not reset.
  assert.equal(load.streams, 1);
  socket.destroy();
  await new Promise((resolve) => socket.on("close", resolve));
  assert.deepEqual([load.streams, load.runningBytes], [0, 0]);
});

void test("nothing is read while the requests that wait for answers take what they may", async () => {
  const streams: H2Stream[] = [];
  const open = (stream: H2Stream): void => {
    stream.take = none;
    stream.run(600);
    streams.push(stream);
  };
  const { socket, sent } = connected(open, { runningBytesMax: 1000 });
  socket.push(Buffer.concat([hello, request(1), request(3)]));
  await sent();
  assert.equal(socket.isPaused(), true);
  streams[0]?.rest();
  assert.equal(socket.isPaused(), false);
});

void test("requests that take long give others a turn between them, and are all answered", async () => {
  const clock = new FakeClock();
  const slow = (stream: H2Stream): void => {
    stream.take = none;
    stream.reply(Buffer.of(0x88), Buffer.alloc(0));
    // As long as a range of some megabytes takes.
    clock.tick(5);
  };
  const { socket, sent } = connected(slow, {}, clock);
  const ids = Array.from({ length: 40 }, (_, i) => 2 * i + 1);
  socket.push(Buffer.concat([hello, ...ids.map(request)]));
  let turns = 0;
  const answered: number[] = [];
  while (answered.length < ids.length) {
    const bytes = await sent();
    answered.push(...ids.filter((id) => framesOf(bytes, id).length > 0));
    turns++;
  }
  assert.deepEqual(answered, ids);
  assert.ok(turns >= 5, `${turns} turns`);
});
