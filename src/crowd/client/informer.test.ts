/** Informers against the API in memory: order, cuts, relists, indexes, sharing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import { expiredError, failure, noSuchPath, tooManyRequests } from "#api/status.ts";
import { headKey } from "#api/json/object-head.ts";
import type { KubeObject } from "#api/object.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createInformer, createNamespacesInformer } from "./informer.ts";
import type { Client } from "./client.ts";
import type { Informer } from "./informer.ts";
import { createInformerSet } from "./informer-set.ts";
import { commonIndexes, keyOf } from "./indexer.ts";
import { createFakeApi } from "./testing/fake-api.ts";

const pods = { group: "", version: "v1", resource: "pods" };

interface TestPod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
}

function pod(name: string, nodeName?: string): TestPod {
  const spec = given({ nodeName });
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "a" }, spec };
}

function setup() {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const stop = new AbortController();
  const deps = { client: api, clock, log: silentLog, random: new FakeRandom(1) };
  const informer = createInformer<TestPod>(deps, { ref: pods });
  const seen: string[] = [];
  informer.addHandler({
    add: (o) => seen.push(`add ${o.metadata?.name}`),
    update: (_old, o) => seen.push(`update ${o.metadata?.name}`),
    delete: (o) => seen.push(`delete ${o.metadata?.name}`),
  });
  return { clock, api, stop, deps, informer, seen };
}

function names(informer: Informer<TestPod>): string[] {
  return informer.list().map((o) => o.metadata?.name ?? "");
}

test("an informer lists, then follows every change in order", async () => {
  const { api, stop, informer, seen } = setup();
  api.put(pods, pod("one"));
  const running = informer.run(stop.signal);
  await informer.synced;
  await settle();
  api.put(pods, pod("two"));
  api.put(pods, pod("one", "node-1"));
  api.drop(pods, "a", "two");
  await settle();
  assert.deepEqual(seen, ["add one", "add two", "update one", "delete two"]);
  assert.deepEqual(names(informer), ["one"]);
  assert.equal(informer.resourceVersion, api.resourceVersion);
  stop.abort();
  await running;
});

test("a cut watch resumes where it was: no second list, no repeated event", async () => {
  const { clock, api, stop, informer, seen } = setup();
  api.put(pods, pod("one"));
  const running = informer.run(stop.signal);
  await settle();
  api.cutWatches();
  await settle();
  api.put(pods, pod("two"));
  await clock.advance(1_000);
  assert.deepEqual(seen, ["add one", "add two"]);
  assert.equal(api.calls.filter((c) => c.verb === "list").length, 1);
  stop.abort();
  await running;
});

test("after a 410 the new list comes as its difference, without spurious events", async () => {
  const { clock, api, stop, informer, seen } = setup();
  api.put(pods, pod("same"));
  api.put(pods, pod("changed"));
  api.put(pods, pod("gone"));
  api.put(pods, pod("reborn"));
  const running = informer.run(stop.signal);
  await settle();
  seen.length = 0;
  api.cutWatches();
  await settle();
  api.put(pods, pod("changed", "node-1"));
  api.drop(pods, "a", "gone");
  api.drop(pods, "a", "reborn");
  api.put(pods, pod("reborn"));
  api.put(pods, pod("new"));
  api.compact();
  await clock.advance(5_000);
  const expected = ["add new", "add reborn", "delete gone", "delete reborn", "update changed"];
  assert.deepEqual([...seen].sort(), expected);
  assert.ok(seen.indexOf("delete reborn") < seen.indexOf("add reborn"));
  assert.equal(api.calls.filter((c) => c.verb === "list").length, 2);
  stop.abort();
  await running;
});

test("a 429 is honoured: the next list waits as long as the server asked", async () => {
  const { clock, api, stop, informer } = setup();
  api.fail((c) => c.verb === "list", tooManyRequests("busy", 7));
  const running = informer.run(stop.signal);
  await clock.advance(6_900);
  assert.equal(api.calls.length, 1);
  await clock.advance(200);
  assert.equal(informer.hasSynced, true);
  stop.abort();
  await running;
});

test("indexes follow updates and may be added late", async () => {
  const { api, stop, informer } = setup();
  api.put(pods, pod("one"));
  const running = informer.run(stop.signal);
  await settle();
  informer.addIndex("node", commonIndexes.nodeName);
  assert.equal(informer.countByIndex("node", "n1"), 0);
  api.put(pods, pod("one", "n1"));
  await settle();
  assert.equal(informer.byIndex("node", "n1")[0]?.metadata?.name, "one");
  api.put(pods, pod("one", "n2"));
  await settle();
  assert.equal(informer.countByIndex("node", "n1"), 0);
  assert.equal(informer.countByIndex("node", "n2"), 1);
  stop.abort();
  await running;
});

test("a handler that throws harms neither the copy nor the other handlers", async () => {
  const { api, stop, informer } = setup();
  const after: string[] = [];
  informer.addHandler({
    add() {
      throw new Error("bug");
    },
  });
  informer.addHandler({ add: (o) => after.push(o.metadata?.name ?? "") });
  const running = informer.run(stop.signal);
  api.put(pods, pod("one"));
  await settle();
  assert.deepEqual(after, ["one"]);
  assert.equal(informer.size, 1);
  stop.abort();
  await running;
});

test("a list anew brings the bytes of unchanged objects, too, and tells nobody", async () => {
  const { clock, stop, deps } = setup();
  const lists: TestPod[][] = [];
  const keptPod = (): TestPod => {
    const head = { key: "a/one", namespace: "a", name: "one", uid: "u", resourceVersion: "5" };
    return { ...pod("one"), [headKey]: head } as TestPod; // as a transport that keeps bytes gives it
  };
  const list = (): Promise<unknown> => {
    lists.push([keptPod()]);
    return Promise.resolve({ metadata: { resourceVersion: "5" }, items: lists.at(-1) });
  };
  const watch = (): Promise<void> => Promise.reject(expiredError("too old"));
  const client = { list, watch } as unknown as Client; // the verbs that an informer uses
  const informer = createInformer<TestPod>({ ...deps, client }, { ref: pods });
  const seen: string[] = [];
  informer.addHandler({ add: () => seen.push("add"), update: () => seen.push("update") });
  const running = informer.run(stop.signal);
  await informer.synced;
  await clock.advance(60_000);
  assert.ok(lists.length > 1);
  assert.equal(informer.get("a", "one"), lists.at(-1)?.[0]);
  assert.deepEqual(seen, ["add"]);
  stop.abort();
  await running;
});

test("everyone in one set shares one watch and one copy", async () => {
  const { api, stop, deps } = setup();
  const set = createInformerSet(deps);
  const first = set.informer<TestPod>(pods);
  const running = set.run(stop.signal);
  const second = set.informer<TestPod>(pods);
  const third = set.informer<TestPod>(pods, { fieldSelector: "spec.nodeName=n1" });
  await set.synced(new AbortController().signal);
  await settle();
  assert.equal(first, second);
  assert.notEqual(first, third as unknown);
  assert.equal(api.watchCount, 2);
  stop.abort();
  await running;
});

test("a resource that was served and is no more is retried without a warning; one never served warns", async () => {
  const { clock, api, stop, deps } = setup();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const other = { ...pods, resource: "others" };
  api.fail(({ resource }) => resource === "others", noSuchPath(), 1_000);
  const served = createInformer({ ...deps, log }, { ref: pods }).run(stop.signal);
  await settle();
  api.fail(({ resource }) => resource === "pods", noSuchPath(), 1_000);
  api.cutWatches();
  await clock.advance(60_000);
  assert.deepEqual(warnings, []);
  const never = createInformer({ ...deps, log }, { ref: other }).run(stop.signal);
  await settle();
  assert.deepEqual(warnings, ["reflector waits"]);
  stop.abort();
  await Promise.all([served, never]);
});

test("a released informer is not held any more, and who asks again gets another, which reads anew", async () => {
  const { api, stop, deps } = setup();
  const set = createInformerSet(deps);
  const running = set.run(stop.signal);
  const first = set.informer<TestPod>(pods);
  await settle();
  assert.equal(set.holds(first), true);
  set.release(pods);
  assert.equal(set.holds(first), false);
  await settle();
  const lists = api.calls.filter(({ verb }) => verb === "list").length;
  const second = set.informer<TestPod>(pods);
  await second.synced;
  assert.notEqual(second, first);
  assert.equal(api.calls.filter(({ verb }) => verb === "list").length, lists + 1);
  stop.abort();
  await running;
});

function podIn(namespace: string, name: string): TestPod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace } };
}

test("one copy follows the namespaces that are added, and lets go of those that are removed", async () => {
  const { api, stop, deps } = setup();
  for (const namespace of ["a", "b", "c"]) api.put(pods, podIn(namespace, "one"));
  const set = createInformerSet(deps);
  const informer = set.inNamespaces<TestPod>(pods);
  assert.equal(informer, set.inNamespaces<TestPod>(pods));
  const seen: string[] = [];
  informer.addHandler({
    add: (o) => seen.push(`add ${keyOf(o)}`),
    delete: (o) => seen.push(`delete ${keyOf(o)}`),
  });
  informer.addNamespace("a");
  const running = set.run(stop.signal);
  await informer.synced;
  await settle();
  assert.equal(informer.resourceVersion, api.resourceVersion);
  informer.addNamespace("b");
  informer.addNamespace("b");
  assert.equal(informer.hasSynced, false);
  await settle();
  assert.equal(informer.hasSynced, true);
  assert.equal(informer.resourceVersion, "");
  api.put(pods, podIn("b", "two"));
  api.put(pods, podIn("c", "two"));
  await settle();
  informer.removeNamespace("b");
  api.put(pods, podIn("b", "three"));
  await settle();
  assert.deepEqual(seen, ["add a/one", "add b/one", "add b/two", "delete b/one", "delete b/two"]);
  assert.deepEqual(informer.namespaces, ["a"]);
  assert.equal(api.watchCount, 1);
  assert.ok(api.calls.every(({ namespace }) => namespace !== "" && namespace !== "c"));
  stop.abort();
  await running;
  assert.equal(api.watchCount, 0);
});

test("a new list of one namespace deletes nothing of the others", async () => {
  const { clock, api, stop, deps } = setup();
  api.put(pods, podIn("a", "one"));
  api.put(pods, podIn("b", "one"));
  const informer = createNamespacesInformer<TestPod>(deps, { ref: pods });
  informer.addNamespace("a");
  informer.addNamespace("b");
  const running = informer.run(stop.signal);
  await informer.synced;
  await settle();
  api.cutWatches();
  api.drop(pods, "b", "one");
  api.compact();
  await clock.advance(5_000);
  assert.deepEqual(names(informer).length, 1);
  assert.ok(informer.get("a", "one"));
  stop.abort();
  await running;
});

test("a namespace without rights leaves the others synced and followed", async () => {
  const { clock, api, stop, deps } = setup();
  api.put(pods, podIn("a", "one"));
  api.fail(
    ({ namespace }) => namespace === "b",
    failure(403, "Forbidden", "pods is forbidden"),
    1_000,
  );
  const informer = createNamespacesInformer<TestPod>(deps, { ref: pods });
  informer.addNamespace("a");
  informer.addNamespace("b");
  const running = informer.run(stop.signal);
  await clock.advance(1_000);
  assert.ok(informer.get("a", "one"));
  assert.equal(informer.hasSynced, false);
  informer.removeNamespace("b");
  assert.equal(informer.hasSynced, true);
  await informer.synced;
  stop.abort();
  await running;
});
