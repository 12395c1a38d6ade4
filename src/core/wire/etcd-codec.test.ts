/** Messages, frames and header blocks: encoding and decoding are inverse; malformed input is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import * as m from "./etcd-messages.ts";
import { grpcHead, grpcTrailers } from "./grpc-frames.ts";
import { HpackDecoder, HpackError } from "./grpc-hpack.ts";
import {
  decodeGrpcMessage,
  Deframer,
  encodeGrpcMessage,
  framed,
  GrpcError,
  prefixBytes,
} from "./grpc.ts";
import { ProtobufError } from "./protobuf.ts";

const keys = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
const revisions = fc.oneof(fc.nat(300), fc.maxSafeNat(), fc.constant(-1));
const leases = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const plainObjects = { noNullPrototype: true } as const;
const kv = fc.record(
  {
    key: keys,
    createRevision: revisions,
    modRevision: revisions,
    version: revisions,
    value: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    lease: leases,
  },
  plainObjects,
);

test("a range's answer comes back as it was, whatever its size", () => {
  const answer = fc.record(
    {
      header: fc.record(
        {
          clusterId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
          memberId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
          revision: revisions,
          raftTerm: fc.bigInt({ min: 0n, max: 9n }),
        },
        plainObjects,
      ),
      kvs: fc.array(kv, { maxLength: 20 }),
      more: fc.boolean(),
      count: revisions,
    },
    plainObjects,
  );
  fc.assert(
    fc.property(answer, (value) => {
      const back = m.rangeResponse.decode(m.rangeResponse.encode(value));
      const plain = back.kvs.map((one) => ({ ...one, value: Buffer.from(one.value) }));
      assert.deepEqual({ ...back, kvs: plain }, value);
    }),
  );
});

test("a value larger than the scratch buffer is written whole", () => {
  const value = Buffer.alloc(5_000_000, 7);
  const back = m.putRequest.decode(m.putRequest.encode({ key: "k", value }));
  assert.equal(Buffer.compare(back.value, value), 0);
  assert.equal(m.putRequest.decode(m.putRequest.encode({ key: "small" })).key, "small");
});

test("transactions nest, to a depth that is bounded", () => {
  let txn: m.TxnRequest = { compare: [], success: [], failure: [] };
  for (let depth = 0; depth < 10; depth++) {
    const op = { range: undefined, put: undefined, deleteRange: undefined, txn };
    txn = { compare: [], success: [op], failure: [] };
  }
  assert.deepEqual(m.txnRequest.decode(m.txnRequest.encode(txn)), txn);
  let bytes = Buffer.alloc(0);
  for (let depth = 0; depth < 100; depth++) {
    const field = depth % 2 === 0 ? 0x22 : 0x12;
    const length =
      bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
    bytes = Buffer.concat([Buffer.from([field, ...length]), bytes]);
  }
  assert.throws(() => m.txnRequest.decode(bytes), /nested too deeply/);
});

test("bytes that are no message are refused, and nothing else happens", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        m.txnRequest.decode(bytes);
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error));
      }
    }),
  );
  assert.throws(
    () => m.putRequest.decode(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])),
    /EOF/,
  );
  assert.throws(() => m.putRequest.decode(Buffer.from([0x08, 1])), /wrong wireType/);
});

test("unknown fields are passed over, packed and unpacked lists are the same", () => {
  const known = m.watchCreateRequest.encode({ key: "a", filters: [0, 1] });
  const unknown = Buffer.from([0xf8, 0x07, 1, 0xfa, 0x07, 1, 9, 0xfd, 0x07, 1, 2, 3, 4]);
  const packed = Buffer.from([0x2a, 2, 0, 1]);
  assert.deepEqual(m.watchCreateRequest.decode(Buffer.concat([known, unknown])).filters, [0, 1]);
  assert.deepEqual(m.watchCreateRequest.decode(packed).filters, [0, 1]);
});

test("messages come out of frames however the bytes are cut", () => {
  const sizes = fc.array(fc.nat(40), { maxLength: 8 });
  fc.assert(
    fc.property(
      sizes,
      fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1 }),
      (lengths, cuts) => {
        const messages = lengths.map((length, i) => Buffer.alloc(length, i));
        const all = Buffer.concat(
          messages.map((one) => framed(Buffer.concat([Buffer.alloc(prefixBytes), one]))),
        );
        const deframer = new Deframer(100);
        const taken: Buffer[] = [];
        for (let at = 0, i = 0; at < all.length; i++) {
          const cut = cuts[i % cuts.length] as number;
          deframer.push(Buffer.from(all.subarray(at, at + cut)), (one) =>
            taken.push(Buffer.from(one)),
          );
          at += cut;
        }
        assert.deepEqual(taken, messages);
        assert.equal(deframer.hasPartialMessage, false);
      },
    ),
  );
});

test("a message over the limit is refused by its length alone", () => {
  const head = Buffer.from([0, 0, 0, 1, 1]);
  assert.throws(
    () => new Deframer(256).push(head, () => assert.fail("taken")),
    (error) =>
      error instanceof GrpcError &&
      error.message === "grpc: received message larger than max (257 vs. 256)",
  );
  assert.throws(
    () => new Deframer(256).push(Buffer.from([1, 0, 0, 0, 0]), () => undefined),
    /compressed/,
  );
});

test("error texts survive the trailer, whatever is in them", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      assert.equal(decodeGrpcMessage(encodeGrpcMessage(text)), text);
      assert.match(encodeGrpcMessage(text), /^[\x20-\x7e]*$/);
    }),
  );
});

test("header blocks of RFC 7541's appendix C.4 mean what it says", () => {
  const decoder = new HpackDecoder();
  const read = (hex: string): string =>
    decoder
      .decode(Buffer.from(hex, "hex"))
      .map(({ name, value }) => `${name}=${value}`)
      .join(" ");
  const base = ":method=GET :scheme=http :path=/ :authority=www.example.com";
  assert.equal(read("828684418cf1e3c2e5f23a6ba0ab90f4ff"), base);
  assert.equal(read("828684be5886a8eb10649cbf"), `${base} cache-control=no-cache`);
  assert.equal(
    read("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"),
    ":method=GET :scheme=https :path=/index.html :authority=www.example.com custom-key=custom-value",
  );
  assert.equal(read(grpcHead.toString("hex")), ":status=200 content-type=application/grpc");
  assert.equal(decoder.decode(grpcTrailers(5, "x".repeat(300)))[1]?.value.length, 300);
});

test("the header table forgets its oldest entries, and blocks that break it are refused", () => {
  const decoder = new HpackDecoder();
  const entry = (name: string): Buffer =>
    Buffer.concat([
      Buffer.from([0x40, name.length]),
      Buffer.from(name),
      Buffer.from([0x7f, 0x81, 0x06]),
      Buffer.alloc(896, "v"),
    ]);
  for (const name of ["a", "b", "c", "d", "e"]) decoder.decode(entry(name));
  assert.equal(decoder.decode(Buffer.from([0xbe]))[0]?.name, "e");
  assert.equal(decoder.decode(Buffer.from([0xc1]))[0]?.name, "b");
  assert.throws(() => decoder.decode(Buffer.from([0xc2])), HpackError);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        new HpackDecoder().decode(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof HpackError, String(error));
      }
    }),
  );
});
