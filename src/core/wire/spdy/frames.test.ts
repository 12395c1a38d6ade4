/** SPDY frames: any inflater with the dictionary reads our header blocks; frames are read however they are cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { constants, inflateSync } from "node:zlib";
import { type SpdyEvent, SpdyReader } from "./frame-reader.ts";
import { dataFrames, finFrame, pingFrame, StreamOpener } from "./frames.ts";
import { spdyDictionary } from "./testing/dictionary.ts";

function readAll(chunks: readonly Uint8Array[]): readonly SpdyEvent[] {
  const reader = new SpdyReader();
  return chunks.flatMap((chunk) => reader.read(chunk));
}

/** Pieces of one stream joined, so that cuts do not show. */
function joined(events: readonly SpdyEvent[]): readonly string[] {
  const texts = new Map<number, string>();
  const rest: string[] = [];
  for (const event of events) {
    if (event.kind !== "data") rest.push(JSON.stringify(event));
    else {
      const more = Buffer.from(event.bytes).toString("latin1") + (event.isFin ? "|" : "");
      texts.set(event.stream, (texts.get(event.stream) ?? "") + more);
    }
  }
  return [...rest, ...[...texts].map(([stream, text]) => `${stream}:${text}`)];
}

test("header blocks of a connection are one zlib stream that any inflater with SPDY's dictionary reads", () => {
  const opener = new StreamOpener();
  const first = opener.open({ streamType: "error" });
  const second = opener.open({ streamType: "stdin" });
  assert.deepEqual([first.id, second.id], [1, 3]);
  const blocks = Buffer.concat([first.frame.subarray(18), second.frame.subarray(18)]);
  const plain = inflateSync(blocks, {
    dictionary: spdyDictionary,
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  const block = (value: string): string => `\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05${value}`;
  assert.equal(plain.toString("latin1"), block("error") + block("stdin"));
  assert.deepEqual([...first.frame.subarray(0, 5)], [0x80, 3, 0, 1, 0]);
});

test("frames mean the same however they are cut", () => {
  const reply = Uint8Array.of(0x80, 3, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 9, 9, 9, 9, 9);
  const reset = Uint8Array.of(0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 2);
  const bytes = Buffer.concat([
    reply,
    ...dataFrames(1, Buffer.from("hello ")),
    pingFrame(2),
    ...dataFrames(3, Buffer.from("other")),
    ...dataFrames(1, Buffer.from("world")),
    finFrame(1),
    reset,
    Uint8Array.of(0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0),
  ]);
  const whole = joined(readAll([bytes]));
  assert.deepEqual(whole, [
    '{"kind":"ping","id":2}',
    '{"kind":"reset","stream":5}',
    '{"kind":"goAway"}',
    "1:hello world|",
    "3:other",
  ]);
  for (let cut = 1; cut < 17; cut++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / cut) }, (_, index) =>
      bytes.subarray(index * cut, (index + 1) * cut),
    );
    assert.deepEqual(joined(readAll(chunks)), whole, `cut every ${cut} bytes`);
  }
});

test("a frame of 16 MiB is passed on, and never kept", () => {
  const reader = new SpdyReader();
  assert.deepEqual(reader.read(Uint8Array.of(0, 0, 0, 1, 0, 0xff, 0xff, 0xff)), []);
  const events = reader.read(new Uint8Array(1000));
  assert.equal(events[0]?.kind === "data" && events[0].bytes.length, 1000);
  // A header block of 16 MiB is skipped.
  const other = new SpdyReader();
  other.read(Uint8Array.of(0x80, 3, 0, 2, 0, 0xff, 0xff, 0xff, 0, 0, 0, 1));
  assert.deepEqual(other.read(new Uint8Array(65_536)), []);
});

test("another version and a short control frame break the connection, and nothing is read after", () => {
  const reader = new SpdyReader();
  const [event] = reader.read(Uint8Array.of(0x80, 2, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1));
  assert.deepEqual(event, { kind: "broken", reason: "a control frame is of another version" });
  assert.deepEqual(reader.read(pingFrame(2)), []);
  const [short] = readAll([Uint8Array.of(0x80, 3, 0, 3, 0, 0, 0, 2, 0, 0)]);
  assert.deepEqual(short, { kind: "broken", reason: "a control frame is too short" });
});
