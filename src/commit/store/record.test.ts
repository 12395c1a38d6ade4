/** Records: what is written is read, and no flipped bit goes unseen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  decodeKeys,
  encodeKeys,
  RecordReader,
  RecordKind,
  recordSize,
  recordSpace,
  writeRecord,
} from "./record.ts";

const u53 = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const keyText = fc
  .uint8Array({ maxLength: 40 })
  .map((bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const header = fc.record({
  kind: fc.constantFrom(...Object.values(RecordKind)),
  epoch: u32,
  batchOffset: u32,
  revision: u53,
  createRevision: u53,
  version: u53,
  lease: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
});

function written(
  fields: Parameters<typeof writeRecord>[2],
  key: string,
  body: Uint8Array,
): Uint8Array {
  const bytes = new Uint8Array(recordSize(key.length, body.length));
  writeRecord(recordSpace(bytes), 0, fields, key, body);
  return bytes;
}

void test("any record reads back as it was written", () => {
  const property = fc.property(
    header,
    keyText,
    fc.uint8Array({ maxLength: 100 }),
    (fields, key, body) => {
      const reader = new RecordReader(written(fields, key, body));
      assert.equal(reader.validSize(0), reader.bytes.length);
      const { kind, epoch, batchOffset, revision, createRevision, version, lease } = fields;
      assert.deepEqual(
        [reader.kind(0), reader.epoch(0), reader.batchOffset(0), reader.revision(0)],
        [kind, epoch, batchOffset, revision],
      );
      assert.deepEqual(
        [reader.createRevision(0), reader.version(0), reader.lease(0), reader.key(0)],
        [createRevision, version, lease, key],
      );
      assert.deepEqual(reader.body(0), body);
    },
  );
  fc.assert(property, { numRuns: 300 });
});

void test("a record with any bit flipped, or cut short, is not valid", () => {
  const fields = {
    kind: RecordKind.put,
    epoch: 1,
    batchOffset: 0,
    revision: 2,
    createRevision: 2,
    version: 1,
    lease: 0n,
  };
  const bytes = written(fields, "key", Uint8Array.of(1, 2, 3));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.equal(new RecordReader(flipped).validSize(0), 0, `bit ${bit}`);
  }
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(new RecordReader(bytes.slice(0, length)).validSize(0), 0);
  }
});

void test("a list of keys reads back, and a malformed one is a bug told", () => {
  const keys = ["", "a", "\u00ff".repeat(300)];
  assert.deepEqual(decodeKeys(encodeKeys(keys), 3), keys);
  assert.throws(() => decodeKeys(encodeKeys(keys), 2), /malformed/);
});
