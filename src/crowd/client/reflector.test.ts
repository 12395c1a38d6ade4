/** The reflector with lists as watches, against a server that answers by script. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "#api/object.ts";
import { ApiError, expiredError, failure } from "#api/status.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Client, ListCall, WatchCall, WatchedEvent } from "./client.ts";
import { createInformer } from "./informer.ts";

const pods = { group: "", version: "v1", resource: "pods" };
type Event = WatchedEvent<KubeObject>;

/** Ends a watch: cleanly, or by throwing. */
interface OpenWatch {
  readonly call: WatchCall;
  send(...events: readonly Event[]): void;
  end(error?: Error): void;
}

function event(type: Event["type"], name: string, resourceVersion: string): Event {
  return { type, object: { kind: "Pod", metadata: { name, namespace: "a", resourceVersion } } };
}

function endMark(resourceVersion: string): Event {
  const annotations = { "k8s.io/initial-events-end": "true" };
  return { type: "BOOKMARK", object: { kind: "Pod", metadata: { resourceVersion, annotations } } };
}

function setup() {
  const clock = new FakeClock();
  const watches: OpenWatch[] = [];
  const lists: ListCall[] = [];
  const scripted = {
    list(_ref: unknown, call: ListCall) {
      lists.push(call);
      return Promise.resolve({ metadata: { resourceVersion: "50" }, items: [] });
    },
    watch(_ref: unknown, call: WatchCall, deliver: (events: readonly Event[]) => void) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (error?: Error): void => (error === undefined ? resolve() : reject(error));
      watches.push({ call, send: (...events) => deliver(events), end });
      call.signal.addEventListener("abort", () => resolve());
      return promise;
    },
  };
  const client = scripted as unknown as Client; // the verbs that a reflector uses
  const deps = { client, clock, log: silentLog, random: new FakeRandom(1) };
  const informer = createInformer<KubeObject>(deps, { ref: pods, watchList: true });
  const seen: string[] = [];
  informer.addHandler({
    add: (o) => seen.push(`add ${o.metadata?.name}`),
    update: (_old, o) => seen.push(`update ${o.metadata?.name}`),
    delete: (o) => seen.push(`delete ${o.metadata?.name}`),
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const at = (index: number): OpenWatch => watches[index] ?? assert.fail(`no watch ${index}`);
  const finish = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, watches, lists, informer, seen, at, finish };
}

test("the first state comes with the watch, as a whole at its end mark, and nothing is listed", async () => {
  const { lists, watches, informer, seen, at, finish } = setup();
  assert.equal(at(0).call.sendInitialEvents, true);
  at(0).send(event("ADDED", "one", "3"), event("ADDED", "two", "4"));
  at(0).send(event("MODIFIED", "one", "5"), event("DELETED", "two", "6"));
  assert.deepEqual([informer.size, informer.hasSynced], [0, false]);
  at(0).send(event("ADDED", "three", "7"), endMark("7"), event("ADDED", "four", "8"));
  assert.deepEqual(seen, ["add one", "add three", "add four"]);
  assert.deepEqual([informer.resourceVersion, informer.hasSynced], ["8", true]);
  assert.equal(informer.get("a", "one")?.metadata?.resourceVersion, "5");
  assert.deepEqual([lists.length, watches.length], [0, 1]);
  await finish();
});

test("a cut before the end mark begins again; one after it resumes at the last event", async () => {
  const { clock, informer, seen, at, finish } = setup();
  at(0).send(event("ADDED", "gone", "3"));
  at(0).end(new Error("cut"));
  await clock.advance(200);
  assert.equal(at(1).call.sendInitialEvents, true);
  at(1).send(event("ADDED", "one", "4"), endMark("9"));
  assert.deepEqual(seen, ["add one"]);
  at(1).end(new Error("cut"));
  await clock.advance(200);
  assert.deepEqual([at(2).call.sendInitialEvents, at(2).call.resourceVersion], [false, "9"]);
  at(2).send(event("MODIFIED", "one", "10"));
  assert.equal(informer.resourceVersion, "10");
  await finish();
});

test("cuts before the end mark wait longer each time", async () => {
  const { clock, watches, at, finish } = setup();
  for (let tries = 0; tries < 8; tries++) {
    at(watches.length - 1).send(event("ADDED", "one", "3"));
    at(watches.length - 1).end(new Error("cut"));
    await settle();
    await clock.advance(clock.nextMs() ?? assert.fail("no pause"));
  }
  assert.ok(clock.monotonicMs() > 5_000, `${clock.monotonicMs()} ms for 8 tries`);
  await finish();
});

test("after a 410 the newest state comes the same way, and handlers get the difference", async () => {
  const { clock, seen, at, finish } = setup();
  at(0).send(event("ADDED", "one", "3"), event("ADDED", "two", "4"), endMark("4"));
  at(0).send({ type: "ERROR", object: expiredError("too old").status as unknown as KubeObject });
  at(0).end();
  await clock.advance(200);
  assert.deepEqual([at(1).call.sendInitialEvents, at(1).call.resourceVersion], [true, ""]);
  at(1).send(event("ADDED", "two", "4"), event("ADDED", "three", "9"), endMark("9"));
  assert.deepEqual(seen, ["add one", "add two", "add three", "delete one"]);
  await finish();
});

for (const code of [400, 405, 422]) {
  test(`a server that answers ${code} is listed, and watched from the list`, async () => {
    const { watches, lists, informer, at, finish } = setup();
    at(0).end(refusal(code));
    await informer.synced;
    await settle();
    assert.equal(lists.length, 1);
    assert.deepEqual([at(1).call.sendInitialEvents, at(1).call.resourceVersion], [false, "50"]);
    assert.equal(watches.length, 2);
    await finish();
  });
}

test("a server whose watches end without the mark is listed after three of them", async () => {
  const { clock, lists, watches, at, finish } = setup();
  for (let tries = 0; tries < 3; tries++) {
    assert.equal(lists.length, 0);
    await clock.advance(2_000); // a watch that lives longer than a second is no failure
    at(watches.length - 1).end();
    await settle();
  }
  assert.equal(lists.length, 1);
  await finish();
});

test("a refusal that is none of the form is tried again, not listed", async () => {
  const { clock, lists, at, finish } = setup();
  at(0).end(refusal(500));
  await clock.advance(200);
  assert.equal(lists.length, 0);
  assert.equal(at(1).call.sendInitialEvents, true);
  await finish();
});

function refusal(code: number): ApiError {
  return failure(code, "", "refused");
}
