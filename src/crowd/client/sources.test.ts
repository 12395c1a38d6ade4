/** Which keys a change of a watched object wakes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "#api/object.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { keyOf } from "./indexer.ts";
import { createInformerSet } from "./informer-set.ts";
import { KeySource, watch, type WatchOptions } from "./sources.ts";
import { createFakeApi } from "./testing/fake-api.ts";

const configMaps = { group: "", version: "v1", resource: "configmaps" };

type Labelled = KubeObject & { readonly data?: Readonly<Record<string, string>> };

function labelled(name: string, labels: Readonly<Record<string, string>> = {}): Labelled {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "a", labels } };
}

/** Takes what a source gives: `key`, or `key after MS`. */
function createSink() {
  const given: string[] = [];
  return {
    given,
    add: (key: string) => void given.push(key),
    addAfter: (key: string, ms: number) => void given.push(ms === 0 ? key : `${key} after ${ms}`),
    /** What came since the last call. */
    take: () => given.splice(0),
  };
}

function labelsOf({ metadata }: Labelled): readonly string[] {
  return Object.values(metadata?.labels ?? {});
}

async function setup() {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const informers = createInformerSet({
    client: api,
    clock,
    log: silentLog,
    random: new FakeRandom(1),
  });
  const informer = informers.informer<Labelled>(configMaps);
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  await settle();
  const put = async (object: Labelled): Promise<void> => {
    api.put(configMaps, object);
    await settle();
  };
  const drop = async (name: string): Promise<void> => {
    api.drop(configMaps, "a", name);
    await settle();
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { informer, put, drop, end };
}

test("an update wakes the keys of the object as it was and as it is, each once", async () => {
  const { informer, put, drop, end } = await setup();
  const sink = createSink();
  watch(informer, labelsOf).connect(sink);
  await put(labelled("one", { x: "p", y: "q" }));
  assert.deepEqual(sink.take(), ["p", "q"]);
  await put(labelled("one", { x: "q", y: "r" }));
  assert.deepEqual(sink.take(), ["p", "q", "r"]);
  await drop("one");
  assert.deepEqual(sink.take(), ["q", "r"]);
  await end();
});

const isHot = (object: Labelled): boolean => labelsOf(object).includes("hot");
const hot = { heat: "hot" };
const filters: readonly (readonly [string, WatchOptions<Labelled>, readonly string[]])[] = [
  ["no filter lets all pass", {}, ["add", "heat", "more", "cool", "delete"]],
  ["kinds of changes", { on: ["add", "delete"] }, ["add", "delete"]],
  ["the object as it is", { only: isHot }, ["heat", "more"]],
  [
    "what differs",
    { changed: (old, one) => isHot(old) !== isHot(one) },
    ["add", "heat", "cool", "delete"],
  ],
];
for (const [what, options, expected] of filters) {
  test(`changes are told apart: ${what}`, async () => {
    const { informer, put, drop, end } = await setup();
    const sink = createSink();
    watch(informer, keyOf, options).connect(sink);
    const steps: readonly (readonly [string, () => Promise<void>])[] = [
      ["add", () => put(labelled("one"))],
      ["heat", () => put(labelled("one", hot))],
      ["more", () => put(labelled("one", { ...hot, more: "yes" }))],
      ["cool", () => put(labelled("one"))],
      ["delete", () => drop("one")],
    ];
    const woke: string[] = [];
    for (const [name, step] of steps) {
      await step();
      if (sink.take().length > 0) woke.push(name);
    }
    assert.deepEqual(woke, expected);
    await end();
  });
}

test("wakes of a large key are gathered, and what is there already comes first", async () => {
  const { informer, put, end } = await setup();
  await put(labelled("small"));
  await put(labelled("large"));
  const sink = createSink();
  watch(informer, keyOf, { sizeOf: (key) => (key === "a/large" ? 5_000 : 10) }).connect(sink);
  assert.deepEqual(sink.take(), ["a/small", "a/large after 100"]);
  await end();
});

test("what was disconnected gives nothing more", async () => {
  const { informer, put, end } = await setup();
  const sink = createSink();
  watch(informer, keyOf).connect(sink)();
  await put(labelled("one"));
  assert.deepEqual(sink.take(), []);
  await end();
});

test("keys of one's own wait for the queue: the sooner of two delays counts", () => {
  const source = new KeySource();
  const sink = createSink();
  source.addAfter("a", 100);
  source.addAfter("a", 50);
  source.addAfter("a", 70);
  source.addAfter("b", 10);
  source.add("b");
  const disconnect = source.connect(sink);
  source.add("c");
  source.addAfter("d", 5);
  assert.deepEqual(sink.take(), ["a after 50", "b", "c", "d after 5"]);
  disconnect();
  source.add("e");
  assert.deepEqual(sink.take(), []);
  source.connect(sink);
  assert.deepEqual(sink.take(), ["e"]);
});
