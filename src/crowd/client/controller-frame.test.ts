/** What every controller has of its frame, besides what `create-controller.test.ts` shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createController, type KeyOptions } from "./create-controller.ts";
import { createInformerSet } from "./informer-set.ts";
import { KeySource } from "./sources.ts";
import { createFakeApi } from "./testing/fake-api.ts";

function setup() {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const base = { client: api, clock, log: silentLog, random: new FakeRandom(1) };
  const deps = { ...base, informers: createInformerSet(base) };
  const keys = new KeySource();
  const seen: string[] = [];
  const options: KeyOptions = {
    name: "keys",
    workers: 1,
    sources: [keys],
    async reconcile({ key }) {
      seen.push(key);
    },
  };
  return { clock, deps, keys, seen, options, stop: new AbortController() };
}

test("the process may decide how many keys are reconciled at a time", async () => {
  const { deps, keys, options, stop } = setup();
  const end = Promise.withResolvers<void>();
  const slow: KeyOptions = { ...options, reconcile: () => end.promise };
  const controller = createController(deps, slow, { workers: 3 });
  for (const key of ["a", "b", "c", "d"]) keys.add(key);
  const running = controller.run(stop.signal);
  await settle();
  const { working, waiting } = controller.metrics();
  assert.deepEqual([working, waiting], [3, 1]);
  assert.match(controller.metricsText(), /^controller_runtime_max_concurrent_reconciles\{.*\} 3$/m);
  end.resolve();
  stop.abort();
  await running;
});

test("an observer hears what the queue does", async () => {
  const { deps, keys, options, stop } = setup();
  const heard: string[] = [];
  const observer = {
    added: () => void heard.push("added"),
    taken: () => void heard.push("taken"),
    done: () => void heard.push("done"),
    retried: () => void heard.push("retried"),
  };
  const controller = createController(deps, options, { observer });
  keys.add("a");
  const running = controller.run(stop.signal);
  await settle();
  assert.deepEqual(heard, ["added", "taken", "done"]);
  stop.abort();
  await running;
});

test("workers wait for what the controller says they wait for", async () => {
  const { deps, keys, seen, options, stop } = setup();
  const ready = Promise.withResolvers<void>();
  const controller = createController(deps, { ...options, sync: () => ready.promise });
  keys.add("a");
  const running = controller.run(stop.signal);
  await settle();
  assert.deepEqual(seen, []);
  ready.resolve();
  await settle();
  assert.deepEqual(seen, ["a"]);
  stop.abort();
  await running;
});

test("the background runs beside the workers, and a stop waits for its end", async () => {
  const { deps, keys, seen, options, stop } = setup();
  const end = Promise.withResolvers<void>();
  let began = 0;
  const background = (signal: AbortSignal): Promise<void> => {
    began++;
    keys.add("of the background");
    signal.addEventListener("abort", () => keys.add("too late"));
    return end.promise;
  };
  const controller = createController(deps, { ...options, background });
  let isOver = false;
  const running = controller.run(stop.signal).then(() => (isOver = true));
  await settle();
  assert.deepEqual([began, seen], [1, ["of the background"]]);
  stop.abort();
  await settle();
  assert.equal(isOver, false);
  end.resolve();
  await running;
  assert.deepEqual(seen, ["of the background"]);
});

test("a background that fails ends the run: the next goes on with the same keys, and no worker more", async () => {
  const { deps, keys, options, stop } = setup();
  let runs = 0;
  const end = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const controller = createController(deps, {
    ...options,
    reconcile: () => end.promise,
    background(signal) {
      signals.push(signal);
      return ++runs === 1 ? Promise.reject(new Error("refused")) : Promise.resolve();
    },
  });
  for (const key of ["a", "b"]) keys.add(key);
  await assert.rejects(controller.run(stop.signal), /refused/);
  assert.equal(signals[0]?.aborted, true);
  const running = controller.run(stop.signal);
  await settle();
  const { working, waiting } = controller.metrics();
  assert.deepEqual([runs, working, waiting], [2, 1, 1]);
  end.resolve();
  stop.abort();
  await running;
});

test("what is stopped listens no more", async () => {
  const { deps, options, stop } = setup();
  const ends: string[] = [];
  const source = { connect: () => () => void ends.push("disconnected") };
  const controller = createController(deps, { ...options, sources: [source] });
  const running = controller.run(stop.signal);
  await settle();
  assert.deepEqual([controller.isLeading(), ends], [true, []]);
  stop.abort();
  await running;
  assert.deepEqual([controller.isLeading(), ends], [false, ["disconnected"]]);
});
