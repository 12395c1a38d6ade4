/** The event recorder: counting, combining, limiting. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Event } from "#api/gen/types.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createEventRecorder, eventsRef } from "./events.ts";
import { createFakeApi } from "./testing/fake-api.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "a", uid: "u1" },
};

function setup() {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const deps = { client: api, clock, log: silentLog, random: new FakeRandom(1) };
  const recorder = createEventRecorder(deps, { component: "test" });
  return { clock, api, recorder };
}

test("the same event again is counted on the one stored", async () => {
  const { clock, api, recorder } = setup();
  for (let i = 0; i < 3; i++) {
    recorder.event(pod, "Warning", "FailedScheduling", "no room");
    await recorder.flushed();
    await clock.advance(60_000);
  }
  const [event, ...rest] = api.peekAll<Event>(eventsRef, "a");
  assert.equal(rest.length, 0);
  assert.equal(event?.count, 3);
  assert.equal(event?.involvedObject.name, "web");
  assert.equal(event?.source?.component, "test");
  assert.match(event?.metadata?.name ?? "", /^web\.[0-9a-f]{16}$/);
});

test("events of two recorders in one millisecond are both stored", async () => {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const deps = { client: api, clock, log: silentLog, random: new FakeRandom(1) };
  for (const component of ["scheduler", "kubelet", "kubelet-2"]) {
    const recorder = createEventRecorder(deps, { component });
    recorder.event(pod, "Normal", "Said", component);
    await recorder.flushed();
    recorder.event(pod, "Normal", "Said", component);
    await recorder.flushed();
    assert.equal(recorder.dropped, 0);
  }
  const events = api.peekAll<Event>(eventsRef, "a");
  assert.deepEqual(events.map(({ message, count }) => [message, count]).toSorted(), [
    ["kubelet", 2],
    ["kubelet-2", 2],
    ["scheduler", 2],
  ]);
});

test("many different messages of one kind become one combined event", async () => {
  const { api, recorder } = setup();
  for (let i = 0; i < 20; i++) recorder.event(pod, "Warning", "Failed", `try ${i}`);
  await recorder.flushed();
  const events = api.peekAll<Event>(eventsRef, "a");
  assert.equal(events.length, 11);
  const combined = events.find((e) => e.message?.startsWith("(combined from similar events): "));
  assert.equal(combined?.count, 10);
});

test("one object's events are limited, and the refused ones counted", async () => {
  const { recorder } = setup();
  for (let i = 0; i < 30; i++) recorder.event(pod, "Normal", "Same", "again");
  await recorder.flushed();
  assert.equal(recorder.dropped, 5);
});

test("what limits one object is forgotten once it limits nothing, and not before", async () => {
  const { clock, recorder } = setup();
  const armed = (): number => clock.timers().filter(({ name }) => name === "client.events").length;
  for (let i = 0; i < 30; i++) recorder.event(pod, "Normal", "Same", "again");
  await recorder.flushed();
  assert.deepEqual([recorder.dropped, armed()], [5, 1]);
  await clock.advance(300_000);
  // One token came back, and the rest is still owed.
  for (let i = 0; i < 2; i++) recorder.event(pod, "Normal", "Same", "again");
  await recorder.flushed();
  assert.equal(recorder.dropped, 6);
  await clock.advance(25 * 300_000);
  assert.equal(armed(), 0, "an idle recorder costs no timer");
  for (let i = 0; i < 26; i++) recorder.event(pod, "Normal", "Same", "again");
  await recorder.flushed();
  assert.equal(recorder.dropped, 7);
  await recorder.close();
  assert.equal(armed(), 0);
});

test("an event is counted for ten minutes after its last, then forgotten", async () => {
  const { clock, api, recorder } = setup();
  const say = async (): Promise<void> => {
    recorder.event(pod, "Normal", "Same", "again");
    await recorder.flushed();
  };
  await say();
  await clock.advance(590_000);
  await say();
  assert.deepEqual(
    api.peekAll<Event>(eventsRef, "a").map(({ count }) => count),
    [2],
  );
  await clock.advance(661_000);
  await say();
  const counts = api.peekAll<Event>(eventsRef, "a").map(({ count }) => count);
  assert.deepEqual(counts.toSorted(), [1, 2], "a new one");
});

test("an event whose object expired is made anew", async () => {
  const { api, recorder } = setup();
  recorder.event(pod, "Normal", "Same", "again");
  await recorder.flushed();
  const first = api.peekAll<Event>(eventsRef)[0]?.metadata?.name ?? "";
  api.drop(eventsRef, "a", first);
  recorder.event(pod, "Normal", "Same", "again");
  await recorder.flushed();
  const [event] = api.peekAll<Event>(eventsRef);
  assert.notEqual(event?.metadata?.name, first);
  assert.equal(event?.count, 2);
});

test("events about cluster-scoped objects live in default", async () => {
  const { api, recorder } = setup();
  recorder.event({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } }, "Normal", "R", "m");
  await recorder.flushed();
  assert.equal(api.peekAll<Event>(eventsRef, "default").length, 1);
});

test("what is remembered of an event does not hold its object", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const { recorder } = setup();
  const record = (): WeakRef<object> => {
    const large = { ...pod, spec: { text: "x".repeat(1000) } };
    recorder.event(large, "Normal", "Scheduled", "there");
    return new WeakRef(large);
  };
  const object = record();
  await recorder.flushed();
  // A weak reference that was just made is strong until the turn ends.
  await settle();
  collectGarbage();
  assert.equal(object.deref(), undefined);
});
