/** Watch bodies of frames with a length, in chunks of every size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameTooLargeError } from "./json-frames.ts";
import { LengthFrames } from "./length-frames.ts";

const frames = [[1], [], [2, 3, 4, 5, 6, 7, 8, 9], [], [10, 11]];

test("frames are found however the stream is cut into chunks", () => {
  const bytes = Uint8Array.from(frames.flatMap((frame) => [0, 0, 0, frame.length, ...frame]));
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new LengthFrames({ frameBytesMax: 8 });
    const found: number[][] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = bytes.slice(at, at + size);
      found.push(...reader.push(chunk).map((frame) => [...frame]));
      chunk.fill(0xff); // borrowed until return
    }
    assert.deepEqual(found, frames);
    assert.equal(reader.isAtBoundary, true);
  }
});

test("a length beyond the limit is refused before anything is kept, also in pieces", () => {
  for (const length of [
    [0xff, 0xff, 0xff, 0xff],
    [0, 0, 0, 9],
  ]) {
    const whole = new LengthFrames({ frameBytesMax: 8 });
    assert.throws(() => whole.push(Uint8Array.from([...length, 1, 2])), FrameTooLargeError);
    const pieces = new LengthFrames({ frameBytesMax: 8 });
    pieces.push(Uint8Array.from(length.slice(0, 3)));
    assert.throws(() => pieces.push(Uint8Array.from(length.slice(3))), FrameTooLargeError);
  }
});

test("an end within a frame is no boundary", () => {
  const reader = new LengthFrames({ frameBytesMax: 8 });
  assert.deepEqual(reader.push(Uint8Array.of(0, 0)), []);
  assert.equal(reader.isAtBoundary, false);
});
