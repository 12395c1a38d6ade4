/** Streams of HTTP/2, below gRPC. */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { Flag, frameHead, frameHeadBytes, FrameType, preface } from "#wire/grpc-frames.ts";
import { H2Connection } from "./h2-connection.ts";

/** Types and flags of the frames of stream 1. */
function framesOf(bytes: Buffer): { type: number; flags: number }[] {
  const found: { type: number; flags: number }[] = [];
  for (let at = 0; at < bytes.length; at += frameHeadBytes + bytes.readUIntBE(at, 3)) {
    const frame = { type: bytes[at + 3] as number, flags: bytes[at + 4] as number };
    if (bytes.readUInt32BE(at + 5) === 1) found.push(frame);
  }
  return found;
}

void test("an answer without a body ends its stream", async () => {
  const out: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      out.push(chunk);
      done();
    },
  });
  const status200 = Buffer.of(0x88);
  new H2Connection(socket, { streamsPerConnectionMax: 10 }, (stream) => {
    stream.take = { data: () => undefined, ended: () => undefined, closed: () => undefined };
    stream.reply(status200, Buffer.alloc(0));
  });
  const method = Buffer.of(0x82);
  const head = frameHead(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, method.length);
  socket.push(Buffer.concat([preface, head, method]));
  await new Promise((resolve) => setImmediate(resolve));
  const headers = framesOf(Buffer.concat(out)).filter(({ type }) => type === FrameType.headers);
  const last = headers.at(-1);
  assert.deepEqual(last, { type: FrameType.headers, flags: Flag.endHeaders | Flag.endStream });
});
