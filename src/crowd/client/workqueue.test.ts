/** Work queue and workers: once waiting, once working, backoff. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tooManyRequests } from "#api/status.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { runWorkers } from "./run-workers.ts";
import { WorkQueue } from "./workqueue.ts";

function setup() {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, log: silentLog }, { name: "test" });
  return { clock, queue, stop: new AbortController() };
}

test("a key waits at most once and keys come in the order they were added", async () => {
  const { queue } = setup();
  queue.add("a");
  queue.add("b");
  queue.add("a");
  assert.equal(await queue.take(), "a");
  assert.equal(await queue.take(), "b");
  assert.equal(queue.metrics().waiting, 0);
});

test("a key under work is never given out twice; added meanwhile it comes once more", async () => {
  const { clock, queue, stop } = setup();
  const seen: string[] = [];
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const running = runWorkers(
    queue,
    4,
    async (key) => {
      seen.push(key);
      await gate;
    },
    stop.signal,
  );
  queue.add("a");
  await settle();
  queue.add("a");
  queue.add("a");
  await settle();
  assert.deepEqual(seen, ["a"]);
  open();
  await clock.advance(0);
  assert.deepEqual(seen, ["a", "a"]);
  stop.abort();
  await running;
});

test("failures back off from 5 ms, doubling, until the key is forgotten", async () => {
  const { queue } = setup();
  assert.deepEqual([queue.failed("a"), queue.failed("a"), queue.failed("a")], [5, 10, 20]);
  queue.forget("a");
  assert.equal(queue.failed("a"), 5);
  for (let i = 0; i < 60; i++) queue.failed("a");
  assert.equal(queue.failed("a"), 1_000_000);
});

test("a failed key is tried again after its backoff, or after what a 429 asked for", async () => {
  const { clock, queue, stop } = setup();
  const at: number[] = [];
  const errors: (Error | undefined)[] = [new Error("bad"), tooManyRequests("busy", 2), undefined];
  const running = runWorkers(
    queue,
    1,
    async () => {
      at.push(clock.monotonicMs());
      const error = errors.shift();
      if (error !== undefined) throw error;
    },
    stop.signal,
  );
  queue.add("a");
  await clock.advance(5_000);
  assert.deepEqual(at, [0, 5, 2_005]);
  assert.equal(queue.metrics().failing, 0);
  stop.abort();
  await running;
});

test("of two delays for one key the sooner counts, on one timer", async () => {
  const { clock, queue } = setup();
  queue.addAfter("a", 1_000);
  queue.addAfter("a", 100);
  queue.addAfter("b", 500);
  assert.deepEqual(clock.armed(), ["client.delay"]);
  await clock.advance(100);
  assert.equal(await queue.take(), "a");
  await clock.advance(2_000);
  assert.equal(queue.metrics().waiting, 1);
  assert.equal(await queue.take(), "b");
});

test("metrics show how long the oldest key has waited", async () => {
  const { clock, queue } = setup();
  queue.add("a");
  await clock.advance(3_000);
  queue.add("b");
  assert.equal(queue.metrics().oldestWaitingMs, 3_000);
});

test("closing wakes the takers and drops what waited", async () => {
  const { queue } = setup();
  const taken = queue.take();
  queue.close();
  assert.equal(await taken, undefined);
  queue.add("a");
  assert.equal(await queue.take(), undefined);
});
