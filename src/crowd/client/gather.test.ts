/** Many changes of a large whole cost few passes over it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkQueue } from "./workqueue.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { addGathered, gatherMs } from "./gather.ts";

test("small wholes do not wait, the largest wait a second", () => {
  assert.deepEqual([0, 49, 50, 3_000, 50_000, 1_000_000].map(gatherMs), [0, 0, 1, 60, 1000, 1000]);
});

test("one change after the other makes one pass per pause; the first decides when", async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, log: silentLog }, { name: "q" });
  let passes = 0;
  const worker = (async () => {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      passes++;
      queue.done(key);
    }
  })();
  for (let ms = 0; ms < 600; ms++) {
    addGathered(queue, "all", 3_000);
    await clock.advance(1);
  }
  queue.close();
  await worker;
  assert.ok(passes >= 9 && passes <= 10, String(passes));
});
