/** A controller on a whole plane, whose delays, backoff and lease pass as the test says. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ConfigMap } from "#api/gen/types.ts";
import { createController, type ControllerOptions } from "../create-controller.ts";
import { startControlPlane, type ControlPlane } from "#cmd/embed.ts";
import { testTools } from "./test-tools.ts";

const configMaps = { group: "", version: "v1", resource: "configmaps" };
let plane: ControlPlane;
before(async () => {
  plane = await startControlPlane({ nodes: 0 });
  await plane.client.create(configMaps, "kube-node-lease", { metadata: { name: "subject" } });
});
after(() => plane.stop());

/** A controller of the namespace's one config map, with tools and a clock of its own. */
function start(
  reconcile: ControllerOptions<ConfigMap>["reconcile"],
  more: Partial<ControllerOptions<ConfigMap>> = {},
) {
  const tools = testTools(plane.client);
  const stop = new AbortController();
  const options = { name: "t", ref: configMaps, namespace: "kube-node-lease", workers: 1 };
  const controller = createController<ConfigMap>(tools, {
    ...options,
    ...more,
    // The plane publishes its certificate there, too.
    reconcile: (request) =>
      request.key.endsWith("/subject") ? reconcile(request) : Promise.resolve(undefined),
  });
  const running = Promise.all([tools.informers.run(stop.signal), controller.run(stop.signal)]);
  const finish = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { tools, controller, finish };
}

test("a reconcile asks to be called again after an hour, and is", async () => {
  let calls = 0;
  const { tools, finish } = start(async () => {
    calls++;
    return { requeueAfterMs: 3_600_000 };
  });
  await tools.settle();
  assert.equal(calls, 1);
  await tools.advance(3_599_000);
  assert.equal(calls, 1);
  await tools.advance(1_000);
  assert.equal(calls, 2);
  await finish();
});

test("a failure is tried again after delays that double from 5 ms", async () => {
  const atMs: number[] = [];
  const { tools, finish } = start(async () => {
    atMs.push(tools.clock.monotonicMs());
    throw new Error("not yet");
  });
  await tools.advance(30_000);
  const gaps = atMs.slice(1).map((ms, at) => ms - (atMs[at] ?? 0));
  assert.ok(gaps.length >= 12, `${gaps.length} gaps`);
  assert.deepEqual(gaps.slice(0, 4), [5, 10, 20, 40]);
  await finish();
});

test("a write of a reconcile is in the copy when the time was passed", async () => {
  const { tools, controller, finish } = start(async ({ object }) => {
    if (object?.data?.["done"] === "yes") return;
    const patch = { data: { done: "yes" } };
    await tools.client.patch(configMaps, "kube-node-lease", "subject", "merge", patch);
  });
  await tools.settle();
  assert.equal(controller.informer.get("kube-node-lease", "subject")?.data?.["done"], "yes");
  await finish();
});

test("a leader keeps its lease for an hour, and a follower takes it when the leader's time stands", async () => {
  const election = { namespace: "kube-node-lease", name: "t" };
  const nothing = () => Promise.resolve(undefined);
  const first = start(nothing, { election: { ...election, identity: "first" } });
  await first.tools.advance(3_600_000);
  assert.equal(first.controller.isLeading(), true);
  const second = start(nothing, { election: { ...election, identity: "second" } });
  await second.tools.advance(10_000);
  assert.equal(second.controller.isLeading(), false);
  await second.tools.advance(10_000);
  assert.equal(second.controller.isLeading(), true);
  await first.tools.advance(2_500); // its next renewal
  assert.equal(first.controller.isLeading(), false);
  await Promise.all([first.finish(), second.finish()]);
});
