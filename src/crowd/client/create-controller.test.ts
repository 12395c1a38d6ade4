/** Controllers as other projects write them, against the API in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failure } from "#api/status.ts";
import { given } from "#base/given.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createController, type ControllerOptions } from "./create-controller.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizers.ts";
import { createInformerSet } from "./informer-set.ts";
import { createFakeApi } from "./testing/fake-api.ts";
import type { KubeObject } from "#api/object.ts";

const sites = { group: "example.com", version: "v1", resource: "sites" };
const configMaps = { group: "", version: "v1", resource: "configmaps" };
const site = (name: string): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Site",
  metadata: { name, namespace: "a", uid: `uid-${name}` },
});

function part(owner: string): KubeObject {
  const reference = {
    apiVersion: "example.com/v1",
    kind: "Site",
    name: owner,
    uid: `uid-${owner}`,
  };
  const ownerReferences = [{ ...reference, controller: true }];
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "part", namespace: "a", ownerReferences },
  };
}

function setup(more: Partial<ControllerOptions<KubeObject>> = {}) {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const deps = { client: api, clock, log: silentLog, random: new FakeRandom(1) };
  const seen: string[] = [];
  const start = (identity: string) => {
    const informers = createInformerSet(deps);
    const stop = new AbortController();
    const controller = createController(
      { ...deps, informers },
      {
        name: "sites",
        ref: sites,
        owns: [configMaps],
        workers: 1,
        async reconcile({ key, object }) {
          seen.push(`${identity} ${key}${object === undefined ? " gone" : ""}`);
        },
        ...(more.election === undefined ? {} : { election: { ...more.election, identity } }),
        ...given({ reconcile: more.reconcile }),
      },
    );
    const running = Promise.all([informers.run(stop.signal), controller.run(stop.signal)]);
    return { controller, stop, running };
  };
  return { api, clock, seen, start };
}

test("a change of the object, of what it owns, and its end reconcile it", async () => {
  const { api, seen, start } = setup();
  api.put(sites, site("one"));
  const { controller, stop, running } = start("c");
  assert.equal(controller.isReady(), false);
  await settle();
  assert.equal(controller.isReady(), true);
  api.put(configMaps, part("one"));
  await settle();
  api.drop(configMaps, "a", "part");
  await settle();
  api.drop(sites, "a", "one");
  await settle();
  assert.deepEqual(seen, ["c a/one", "c a/one", "c a/one", "c a/one gone"]);
  stop.abort();
  await running;
});

test("nothing is reconciled before every informer has its first list", async () => {
  const { api, clock, seen, start } = setup();
  api.put(sites, site("one"));
  const isOwned = ({ resource }: { resource: string }): boolean => resource === "configmaps";
  api.fail(isOwned, failure(500, "InternalError", "down"), 1);
  const { controller, stop, running } = start("c");
  await settle();
  assert.deepEqual([seen, controller.isReady()], [[], false]);
  await clock.advance(1_000);
  assert.deepEqual([seen, controller.isReady()], [["c a/one"], true]);
  stop.abort();
  await running;
});

test("a part that changes its controller reconciles both", async () => {
  const { api, seen, start } = setup();
  api.put(sites, site("one"));
  api.put(sites, site("two"));
  api.put(configMaps, part("one"));
  const { stop, running } = start("c");
  await settle();
  seen.length = 0;
  api.put(configMaps, part("two"));
  await settle();
  assert.deepEqual(seen.toSorted(), ["c a/one", "c a/two"]);
  stop.abort();
  await running;
});

test("of two processes only the leader reconciles, and its successor looks at every object", async () => {
  const election = { namespace: "a", name: "sites", identity: "" };
  const { api, clock, seen, start } = setup({ election });
  api.put(sites, site("one"));
  const first = start("first");
  await settle();
  const second = start("second");
  await clock.advance(5_000);
  assert.deepEqual(seen, ["first a/one"]);
  assert.deepEqual([first.controller.isLeading(), second.controller.isLeading()], [true, false]);
  first.stop.abort();
  await first.running;
  await clock.advance(5_000);
  assert.deepEqual(seen, ["first a/one", "second a/one"]);
  second.stop.abort();
  await second.running;
});

test("a stop waits for the reconcile under way", async () => {
  const end = Promise.withResolvers<void>();
  const { api, start } = setup({ reconcile: () => end.promise });
  api.put(sites, site("one"));
  const { stop, running } = start("c");
  await settle();
  let isOver = false;
  const over = running.then(() => (isOver = true));
  stop.abort();
  await settle();
  assert.equal(isOver, false);
  end.resolve();
  await over;
});

test("metrics have controller-runtime's names, and a failure is tried again", async () => {
  let tries = 0;
  const { api, clock, start } = setup({
    async reconcile() {
      if (++tries === 1) throw new Error("not yet");
    },
  });
  api.put(sites, site("one"));
  const { controller, stop, running } = start("c");
  await settle();
  await clock.advance(10);
  const text = controller.metricsText();
  assert.match(
    text,
    /^controller_runtime_reconcile_total\{controller="sites",result="success"\} 1$/m,
  );
  assert.match(text, /^controller_runtime_reconcile_errors_total\{controller="sites"\} 1$/m);
  assert.match(
    text,
    /^controller_runtime_reconcile_time_seconds_bucket\{controller="sites",le="0.005"\} 2$/m,
  );
  assert.match(text, /^controller_runtime_reconcile_time_seconds_count\{controller="sites"\} 2$/m);
  assert.match(text, /^workqueue_retries_total\{controller="sites",name="sites"\} 1$/m);
  stop.abort();
  await running;
});

test("a finalizer is added and removed only as the object is known", async () => {
  const { api } = setup();
  const old = api.put(sites, site("one"));
  const held = await addFinalizer(api, sites, old, "example.com/x");
  assert.equal(hasFinalizer(held, "example.com/x"), true);
  await assert.rejects(addFinalizer(api, sites, old, "example.com/y"), /modified/);
  assert.equal(await addFinalizer(api, sites, held, "example.com/x"), held);
  const free = await removeFinalizer(api, sites, held, "example.com/x");
  assert.equal(hasFinalizer(free, "example.com/x"), false);
});
