/** A client that stops reading a snapshot does not block compaction. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { openMemoryStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Key, Revision } from "#store/store.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import type { ServerStream } from "./call.ts";
import { sendSnapshot } from "./snapshot.ts";

/** A client that takes nothing. */
class StalledCall implements ServerStream {
  sent = 0;
  isClosed = false;

  get backlogBytes(): number {
    return this.sent;
  }

  send(withHeadroom: Buffer): void {
    this.sent += withHeadroom.length;
  }

  failure: unknown;
  #drained: (() => void) | undefined;

  sendPieces(): void {}
  onDrain(f: () => void): void {
    this.#drained = f;
  }
  end(): void {}
  fail(error: unknown): void {
    this.failure = error;
  }

  /** The client takes all that was sent. */
  take(): void {
    this.sent = 0;
    this.#drained?.();
  }
}

const limits = { streamBacklogBytes: 10, snapshotStallMs: 60_000 };

/** A store with history, and a snapshot of it that no client reads. */
async function stalled() {
  const clock = new FakeClock();
  const deps = { clock, random: new FakeRandom(1), log: silentLog };
  const store = await openMemoryStore(deps, recommendedOptions);
  const value = Buffer.alloc(100);
  for (let i = 0; i < 20; i++) await store.put("a" as Key, value, {});
  const call = new StalledCall();
  const gone = new AbortController();
  const sending = sendSnapshot({ store, clock, call, gone: gone.signal }, limits, "3.6.0");
  await store.put("a" as Key, value, {});
  await store.compact(store.commitRevision as Revision);
  await clock.advance(1000);
  return { clock, store, call, gone, sending };
}

void test("of a stream that ends while its client takes nothing, compaction no longer waits for it", async () => {
  const { clock, store, call, gone, sending } = await stalled();
  assert.ok(store.stats().versions > 1, "what the snapshot reads is kept");
  call.isClosed = true;
  gone.abort();
  await sending;
  await clock.advance(1000);
  assert.equal(store.stats().versions, 1);
  assert.equal(call.failure, undefined);
  assert.deepEqual(clock.timers(), []);
  await store.close();
});

void test("a client that stays and takes too little is let go with an error, and compaction goes on", async () => {
  const { clock, store, call, sending } = await stalled();
  await clock.advance(limits.snapshotStallMs - 1001);
  assert.ok(store.stats().versions > 1, "it may still come to take it");
  call.take();
  await clock.advance(limits.snapshotStallMs - 1);
  assert.equal(call.failure, undefined, "its time began anew with what it took");
  await clock.advance(2);
  await sending;
  const failure = call.failure as unknown;
  assert.ok(failure instanceof GrpcError);
  assert.equal(failure.code, Code.resourceExhausted);
  assert.match(failure.message, /^etcdserver: snapshot ended: .* less than 10 bytes in 60 s/);
  await clock.advance(1000);
  assert.equal(store.stats().versions, 1);
  await store.close();
});
