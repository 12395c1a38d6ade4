/** A crowd's frames are made once, and never mixed up between watches that differ. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Commit, Key, LeaseId, Revision } from "#store/store.ts";
import { FrameType, frameHeadBytes, writeFrameHead } from "#wire/grpc-frames.ts";
import { watchResponse } from "#wire/etcd-messages.ts";
import { prefixBytes } from "#wire/grpc.ts";
import { Identity } from "./identity.ts";
import { Outbox, sent } from "./outbox.ts";
import { WatchFrames, type Frame } from "./watch-frames.ts";

const context = { shared: true, compactRevision: -1 };
const cut = {
  asked: "puts and deletes",
  prevKv: false,
  noPut: false,
  noDelete: false,
  responseBytes: 2 ** 20,
  fragmentBytes: Number.POSITIVE_INFINITY,
};

function put(name: string, at: number): Commit {
  const revision = at as Revision;
  const numbers = { createRevision: revision, modRevision: revision, version: 1 };
  const key = name as Key;
  const kv = { key, value: Buffer.from(name), ...numbers, lease: 0n as LeaseId };
  return { revision, events: [{ kind: "put", key, kv, previous: undefined }] };
}

function keysOf(frames: readonly Frame[]): string[] {
  return frames.flatMap(([bytes]) =>
    watchResponse.decode(bytes.subarray(prefixBytes)).events.map(({ kv }) => kv?.key ?? ""),
  );
}

const frames = (): WatchFrames => new WatchFrames(new Identity({ clusterId: 1n, memberId: 2n }));

void test("watches that were handed the same and asked for the same share one frame, within the turn", async () => {
  const made = frames();
  const commits = [put("a", 2), put("b", 3)];
  const first = made.of(0, cut, commits, context);
  assert.equal(made.of(0, cut, [...commits], context), first);
  assert.deepEqual(keysOf(first), ["a", "b"]);
  await Promise.resolve();
  assert.notEqual(made.of(0, cut, commits, context), first);
});

void test("another watch id, another question, other commits between the same ends: other frames", () => {
  const made = frames();
  const [a, b, c, d] = [put("a", 2), put("b", 3), put("c", 4), put("d", 5)];
  const first = made.of(0, cut, [a, b, d], context);
  const other = made.of(7, cut, [a, b, d], context);
  assert.equal(watchResponse.decode((other[0] as Frame)[0].subarray(prefixBytes)).watchId, 7);
  assert.deepEqual(keysOf(made.of(0, cut, [a, c, d], context)), ["a", "c", "d"]);
  const noPuts = { ...cut, asked: "deletes", noPut: true };
  assert.deepEqual(made.of(0, noPuts, [a, b, d], context), []);
  assert.deepEqual(keysOf(first), ["a", "b", "d"]);
});

void test("what goes through an outbox comes out in order, and its blocks are used again only once sent", () => {
  const item = fc.record({ bytes: fc.integer({ min: 0, max: 9000 }), frame: fc.boolean() });
  const turns = fc.array(fc.array(item, { maxLength: 40 }), { maxLength: 6 });
  fc.assert(
    fc.property(turns, fc.nat(250), (all, seed) => {
      const outbox = new Outbox();
      const open = all.map((items, turn) => {
        const expected = items.map((one, i) => addTo(outbox, one, (seed + turn * 7 + i) & 0xff));
        const { bytes } = outbox;
        const outgoing = outbox.take();
        assert.equal(bytes, outgoing.bytes);
        assert.equal(outbox.bytes, 0);
        return { outgoing, expected: Buffer.concat(expected) };
      });
      // All turns are unsent until here: none may have been written over.
      for (const { outgoing, expected } of open) {
        assert.ok(Buffer.concat(outgoing.parts).equals(expected));
      }
      for (const { outgoing } of open) sent(outgoing);
    }),
  );
});

function addTo(outbox: Outbox, one: { bytes: number; frame: boolean }, fill: number): Buffer {
  const payload = Buffer.alloc(one.bytes, fill);
  if (!one.frame) {
    outbox.push(payload);
    return payload;
  }
  outbox.dataFrame(5, payload);
  const head = Buffer.alloc(frameHeadBytes);
  writeFrameHead(head, 0, FrameType.data, 0, 5, payload.length);
  return Buffer.concat([head, payload]);
}
