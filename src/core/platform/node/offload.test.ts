/** A pool of threads: answers, limits of time and of the queue, an end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeClock } from "./clock.ts";
import { NodeOffload, type OffloadOptions } from "./offload.ts";

const program = (source: string): URL =>
  new URL(`data:text/javascript,${encodeURIComponent(source)}`);
const head = 'import { parentPort } from "node:worker_threads";';
const doubling = program(`${head} parentPort.on("message", (n) => parentPort.postMessage(n * 2));`);
const endless = program(`${head} parentPort.on("message", () => { for (;;); });`);
const greedy = program(
  `${head} parentPort.on("message", () => { const all = []; for (;;) all.push(Array(1e4).fill({})); });`,
);

function pool(options: Partial<OffloadOptions> & { readonly program: URL }) {
  const limits = { threadsMax: 1, waitingMax: 2, taskMs: 20_000, idleMs: 20_000 };
  const heapBytesMax = 64 * 2 ** 20;
  return new NodeOffload<number, number>(
    { clock: new NodeClock() },
    { ...limits, heapBytesMax, ...options },
  );
}

test("tasks are answered in order by one thread", async () => {
  const offload = pool({ program: doubling });
  const results = await Promise.all([1, 2, 3].map((n) => offload.run(n)));
  assert.deepEqual(
    results,
    [2, 4, 6].map((output) => ({ kind: "done", output })),
  );
  await offload.close();
});

test("a task beyond its time is ended, and the next one is served by another thread", async () => {
  const offload = pool({ program: endless, taskMs: 100 });
  assert.deepEqual(await offload.run(1), { kind: "exceeded" });
  assert.deepEqual(await offload.run(1), { kind: "exceeded" });
  await offload.close();
});

test("a task beyond its memory is ended", async () => {
  const offload = pool({ program: greedy });
  assert.deepEqual(await offload.run(1), { kind: "exceeded" });
  await offload.close();
});

test("beyond the queue a task is refused, and close answers those that wait", async () => {
  const offload = pool({ program: endless, waitingMax: 1 });
  const running = offload.run(1);
  const waiting = offload.run(2);
  assert.deepEqual(await offload.run(3), { kind: "busy" });
  await offload.close();
  assert.deepEqual(await running, { kind: "exceeded" });
  assert.deepEqual(await waiting, { kind: "busy" });
});
