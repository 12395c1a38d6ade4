/** Answers written from stored bytes are those of the codec, byte for byte. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { rangeResponse, rangeStreamResponse } from "./etcd-messages.ts";
import { RangeWriter, type StoredKeyValue } from "./etcd-range.ts";
import { prefixBytes } from "./grpc.ts";

const number = fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat());
const stored = fc.record({
  key: fc.uint8Array({ minLength: 1, maxLength: 100 }).map((bytes) => latin1(bytes)),
  // Beyond a scratch, and beyond a piece.
  value: fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 40_000 }), fc.constant(700_000)),
  createRevision: number,
  modRevision: number,
  version: number,
  lease: fc.oneof(fc.constant(0n), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
});
const header = { clusterId: 2n ** 63n + 5n, memberId: 7n, revision: 123_456_789, raftTerm: 2n };

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

void test("an answer written from the store's bytes is the one that is encoded from objects", () => {
  const writer = new RangeWriter();
  const answer = fc.record({
    kvs: fc.array(stored, { maxLength: 12 }),
    more: fc.boolean(),
    count: number,
    withValue: fc.boolean(),
    streamed: fc.boolean(),
  });
  fc.assert(
    fc.property(answer, ({ kvs, more, count, withValue, streamed }) => {
      const views = kvs.map(viewOf);
      writer.begin();
      writer.header(header);
      for (const view of views) writer.keyValue(view, withValue);
      writer.rest(more, count);
      const written = Buffer.concat(streamed ? writer.endStreamed() : writer.end());
      assert.equal(written[0], 0);
      assert.equal(written.readUInt32BE(1), written.length - prefixBytes);
      const plain = views.map((view) => ({ ...view, value: withValue ? valueOf(view) : none }));
      const whole = { header, kvs: plain, more, count };
      const expected = streamed
        ? rangeStreamResponse.encode({ rangeResponse: whole })
        : rangeResponse.encode(whole);
      assert.ok(written.subarray(prefixBytes).equals(expected));
    }),
    { numRuns: 60 },
  );
});

const none = new Uint8Array(0);

function viewOf({
  value,
  ...rest
}: { readonly value: number } & Omit<
  StoredKeyValue,
  "bytes" | "valueStart" | "valueLength"
>): StoredKeyValue {
  const bytes = new Uint8Array(value + 20).fill(value % 251);
  return { ...rest, bytes, valueStart: 13, valueLength: value };
}

function valueOf(view: StoredKeyValue): Uint8Array {
  return view.bytes.subarray(view.valueStart, view.valueStart + view.valueLength);
}
