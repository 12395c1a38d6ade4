/** Whoever stops taking a snapshot holds nothing up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { SimClock } from "#sim/clock.ts";
import { SimRandom } from "#sim/random.ts";
import { openMemoryStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Key, Revision } from "#store/store.ts";
import type { ServerStream } from "./call.ts";
import { sendSnapshot } from "./snapshot.ts";

/** A client that takes nothing. */
class StalledCall implements ServerStream {
  sent = 0;
  closed = false;

  get backlogBytes(): number {
    return this.sent;
  }

  send(withHeadroom: Buffer): void {
    this.sent += withHeadroom.length;
  }

  sendPieces(): void {}
  onDrain(): void {}
  end(): void {}
  fail(): void {}
}

void test("of a stream that ends while its client takes nothing, compaction no longer waits for it", async () => {
  const clock = new SimClock();
  const deps = { clock, random: new SimRandom(1), log: silentLog };
  const store = await openMemoryStore(deps, recommendedOptions);
  const value = Buffer.alloc(100);
  for (let i = 0; i < 20; i++) await store.put("a" as Key, value, {});
  const call = new StalledCall();
  const gone = new AbortController();
  const reader = { store, call, gone: gone.signal };
  const sending = sendSnapshot(reader, { streamBacklogBytes: 10 }, "3.6.0");
  await store.put("a" as Key, value, {});
  await store.compact(store.commitRevision as Revision);
  await clock.run(1000);
  assert.ok(store.stats().versions > 1, "what the snapshot reads is kept");
  call.closed = true;
  gone.abort();
  await sending;
  await clock.run(1000);
  assert.equal(store.stats().versions, 1);
  await store.close();
});
