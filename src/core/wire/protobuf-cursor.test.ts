/** The cursor reads what `readFields` reads, and refuses what it refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ProtobufCursor } from "./protobuf-cursor.ts";
import { ProtobufError, readFields } from "./protobuf.ts";

interface Read {
  readonly number: number;
  readonly wireType: number;
  readonly integer: bigint;
  readonly bytes: string;
}

function byFields(message: Uint8Array): readonly Read[] | "error" {
  const all: Read[] = [];
  return attempt(() => {
    readFields(message, ({ number, wireType, integer, bytes }) => {
      const signed = BigInt.asIntN(64, integer);
      all.push({ number, wireType, integer: signed, bytes: Buffer.from(bytes).toString("hex") });
    });
    return all;
  });
}

function byCursor(message: Uint8Array): readonly Read[] | "error" {
  const cursor = new ProtobufCursor();
  const all: Read[] = [];
  cursor.open(message);
  return attempt(() => {
    while (cursor.next(message.length)) {
      const { number, wireType, start, end } = cursor;
      const bytes = Buffer.from(message.subarray(start, end)).toString("hex");
      all.push({ number, wireType, integer: BigInt(cursor.integer()), bytes });
    }
    return all;
  });
}

function attempt<T>(read: () => T): T | "error" {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof ProtobufError, String(error));
    return "error";
  }
}

/** Mostly well-formed: a tag, then a value that may be cut. */
const field = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(0x08, 0x10),
      fc.array(fc.integer({ min: 128, max: 255 }), { maxLength: 10 }),
      fc.integer({ min: 0, max: 127 }),
    )
    .map(([tag, more, last]) => [tag, ...more, last]),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => [0x12, bytes.length, ...bytes]),
  fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => [0x19, ...bytes]),
  fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => [0x25, ...bytes]),
  fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 6 }),
);

test("a cursor reads the fields that readFields reads, and refuses the same bytes", () => {
  const messages = fc
    .array(field, { maxLength: 6 })
    .map((fields) => Uint8Array.from(fields.flat()));
  fc.assert(
    fc.property(messages, (message) => assert.deepEqual(byCursor(message), byFields(message))),
    { seed: 7, numRuns: 5_000 },
  );
});

test("texts are what the bytes say, whether or not they were read before", () => {
  const cursor = new ProtobufCursor();
  const texts = fc.array(fc.oneof(fc.string({ maxLength: 300 }), fc.string({ unit: "binary" })));
  const property = fc.property(texts, fc.string(), (all, likely) => {
    for (const text of [...all, ...all]) {
      const bytes = Buffer.from(text);
      const head = [0x0a, 0x80 | (bytes.length & 0x7f), bytes.length >> 7];
      cursor.open(Buffer.concat([Uint8Array.from(head), bytes]));
      assert.ok(cursor.next(3 + bytes.length));
      assert.equal(cursor.text(likely), bytes.toString());
      assert.equal(cursor.text(text), bytes.toString());
      assert.equal(cursor.ownText(), bytes.toString());
    }
  });
  fc.assert(property, { seed: 7, numRuns: 500 });
});

test("bytes that are no UTF-8 are no text", () => {
  const cursor = new ProtobufCursor();
  cursor.open(Uint8Array.of(0x0a, 2, 0xc1, 0xa1));
  cursor.next(4);
  assert.throws(() => cursor.text(), ProtobufError);
  assert.throws(() => cursor.ownText(), ProtobufError);
});
