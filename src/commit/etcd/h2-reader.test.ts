/** Frames, however their bytes come in; and each breach of the protocol by its code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ErrorCode, Flag, frameHead, FrameType, preface } from "#wire/grpc-frames.ts";
import { FrameReader, headerBlockBytesMax, ProtocolError } from "./h2-reader.ts";

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  return Buffer.concat([frameHead(type, flags, stream, payload.length), payload]);
}

/** A reader, and a line for each call of its sink. */
function reading() {
  const calls: string[] = [];
  const reader = new FrameReader({
    isPausing: false,
    headerBlock: (stream, end, block) =>
      void calls.push(`headers ${stream} ${end} ${block.toString("hex")}`),
    data: (stream, bytes, length, end) =>
      void calls.push(`data ${stream} ${end} ${length} ${bytes.toString("hex")}`),
    control: (type, flags, stream, payload) =>
      void calls.push(`${type} ${flags} ${stream} ${payload.toString("hex")}`),
  });
  return { reader, calls };
}

const payload = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const stream = fc.integer({ min: 1, max: 0x7fff_ffff });
const end = fc.constantFrom(0, Flag.endStream);

/** Bytes as a peer may send them, and the call that they are. */
interface Sent {
  readonly bytes: Buffer;
  readonly call: string;
}

const data: fc.Arbitrary<Sent> = fc
  .tuple(stream, end, payload, fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }))
  .map(([id, last, bytes, padding]) => {
    const padded = [Buffer.of(padding ?? 0), bytes, Buffer.alloc(padding ?? 0)];
    const whole = padding === undefined ? bytes : Buffer.concat(padded);
    const flags = last | (padding === undefined ? 0 : Flag.padded);
    return {
      bytes: frame(FrameType.data, flags, id, whole),
      call: `data ${id} ${last !== 0} ${whole.length} ${bytes.toString("hex")}`,
    };
  });

const headers: fc.Arbitrary<Sent> = fc
  .tuple(stream, end, fc.array(payload, { minLength: 1, maxLength: 4 }))
  .map(([id, last, parts]) => {
    const frames = parts.map((part, at) => {
      const type = at === 0 ? FrameType.headers : FrameType.continuation;
      const flags = at === parts.length - 1 ? Flag.endHeaders : 0;
      return frame(type, flags | (at === 0 ? last : 0), id, part);
    });
    const call = `headers ${id} ${last !== 0} ${Buffer.concat(parts).toString("hex")}`;
    return { bytes: Buffer.concat(frames), call };
  });

const ping: fc.Arbitrary<Sent> = payload.map((bytes) => ({
  bytes: frame(FrameType.ping, 0, 0, bytes),
  call: `${FrameType.ping} 0 0 ${bytes.toString("hex")}`,
}));

void test("frames come out whole and in order, wherever the network cuts", () => {
  const sent = fc.array(fc.oneof(data, headers, ping), { maxLength: 12 });
  const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 60 }));
  fc.assert(
    fc.property(sent, cuts, (frames, sizes) => {
      const { reader, calls } = reading();
      const bytes = Buffer.concat([preface, ...frames.map((one) => one.bytes)]);
      for (let at = 0; at < bytes.length;) {
        const { value: size } = sizes.next();
        reader.read(bytes.subarray(at, at + size));
        at += size;
      }
      assert.deepEqual(
        calls,
        frames.map((one) => one.call),
      );
    }),
  );
});

const headerFrame = (flags: number, bytes: Buffer): Buffer =>
  frame(FrameType.headers, flags, 1, bytes);
const breaches: readonly [string, number, readonly Buffer[]][] = [
  ["another preface", ErrorCode.protocol, [Buffer.alloc(24)]],
  [
    "a frame too long",
    ErrorCode.frameSize,
    [preface, frame(FrameType.data, 0, 1, Buffer.alloc(16_385))],
  ],
  [
    "padding without a payload",
    ErrorCode.protocol,
    [preface, frame(FrameType.data, Flag.padded, 1, Buffer.of(1))],
  ],
  [
    "a header block interrupted",
    ErrorCode.protocol,
    [preface, headerFrame(0, Buffer.of(0x82)), frame(FrameType.ping, 0, 0, Buffer.alloc(8))],
  ],
  [
    "a continuation of nothing",
    ErrorCode.protocol,
    [preface, frame(FrameType.continuation, Flag.endHeaders, 1, Buffer.of(0x82))],
  ],
  [
    "a continuation of another stream",
    ErrorCode.protocol,
    [
      preface,
      headerFrame(0, Buffer.of(0x82)),
      frame(FrameType.continuation, Flag.endHeaders, 3, Buffer.of(0x84)),
    ],
  ],
  [
    "a header block without end",
    ErrorCode.enhanceYourCalm,
    [
      preface,
      headerFrame(0, Buffer.alloc(16_384)),
      ...Array.from({ length: headerBlockBytesMax / 16_384 }, () =>
        frame(FrameType.continuation, 0, 1, Buffer.alloc(16_384)),
      ),
    ],
  ],
];

for (const [what, code, bytes] of breaches) {
  void test(`${what} is refused`, () => {
    const { reader, calls } = reading();
    assert.throws(
      () => reader.read(Buffer.concat(bytes)),
      (error) => error instanceof ProtocolError && error.code === code,
    );
    assert.deepEqual(calls, []);
  });
}
