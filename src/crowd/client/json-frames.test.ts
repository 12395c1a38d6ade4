/** Watch bodies in chunks of every size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameTooLargeError, JsonFrames } from "./json-frames.ts";

const encoder = new TextEncoder();
const values = [
  { type: "ADDED", object: { a: 'brace } and quote " and \\', b: ["[", "]", {}], c: "ü€😀" } },
  { type: "MODIFIED", object: {} },
  { nested: { deep: [[[{ x: 1 }]]] } },
];

test("values are found however the stream is cut into chunks", () => {
  const bytes = encoder.encode(values.map((v) => JSON.stringify(v)).join("\n"));
  for (let size = 1; size <= bytes.length; size++) {
    const frames = new JsonFrames({ frameBytesMax: 1_000 });
    const found: unknown[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...frames.push(bytes.subarray(at, at + size)));
    }
    assert.deepEqual(found, values);
    assert.equal(frames.isAtBoundary, true);
  }
});

test("a value larger than the limit is refused before it is whole", () => {
  const frames = new JsonFrames({ frameBytesMax: 10 });
  assert.throws(() => frames.push(encoder.encode('{"a":"012345678')), FrameTooLargeError);
});

test("what is no JSON object is refused", () => {
  const frames = new JsonFrames({ frameBytesMax: 10 });
  assert.throws(() => frames.push(encoder.encode("Too many requests")), SyntaxError);
});
