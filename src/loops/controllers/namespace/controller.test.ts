/** Namespaces are emptied in order and finished when nothing is left. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Namespace } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import { refs } from "../framework/refs.ts";
import { documents } from "../testing/discovery.ts";
import { createWorld, names, pod, type World } from "../testing/world.ts";
import { NamespaceController } from "./controller.ts";

function going(world: World): void {
  world.api.put(refs.namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    // Its own finalizer keeps the fake from dropping it before the test has looked.
    metadata: { name: "old", deletionTimestamp: world.now(), finalizers: ["example.com/keep"] },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Terminating" },
  } as Namespace);
}

function put(world: World, name: string, finalizers: readonly string[] = []): void {
  world.api.put(refs.configmaps, { metadata: { name, namespace: "old", finalizers } });
}

function stored(world: World): Namespace | undefined {
  return world.api.peek<Namespace>(refs.namespaces, "", "old");
}

function condition(world: World, type: string): string {
  const found = stored(world)?.status?.conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
}

test("an empty namespace is finished in one pass, saying so", async () => {
  const world = createWorld(documents);
  going(world);
  await world.start((deps) => new NamespaceController(deps));
  assert.deepEqual(stored(world)?.spec?.finalizers, []);
  assert.equal(stored(world)?.status?.conditions?.length, 5);
  assert.deepEqual(world.writes(), [
    "update namespaces/status old",
    "update namespaces/finalize old",
  ]);
  await world.stop();
});

test("pods go first; what else is there goes when they have gone; others are not touched", async () => {
  const world = createWorld(documents);
  const spec = { containers: [], nodeName: "n1" };
  world.api.put(refs.pods, pod("p", { spec, metadata: { namespace: "old" } }));
  put(world, "c");
  world.api.put(refs.configmaps, { metadata: { name: "c", namespace: "new" } });
  going(world);
  await world.start((deps) => new NamespaceController(deps));
  assert.equal(names(world.api, refs.configmaps).length, 2);
  assert.match(
    condition(world, "NamespaceContentRemaining"),
    /^True SomeResourcesRemain: .*pods\. has 1 resource instances$/,
  );
  world.api.drop(refs.pods, "old", "p");
  await world.rest();
  assert.deepEqual(stored(world)?.spec?.finalizers, []);
  assert.deepEqual(
    world.api.peekAll(refs.configmaps).map((one) => one.metadata?.namespace),
    ["new"],
  );
  await world.stop();
});

test("finalizers of others are named and waited for, later and later", async () => {
  const world = createWorld(documents);
  put(world, "held", ["example.com/hold"]);
  going(world);
  await world.start((deps) => new NamespaceController(deps));
  assert.equal(
    condition(world, "NamespaceFinalizersRemaining"),
    "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
  );
  await world.advance(60_000);
  const lists = world.api.calls.filter((call) => call.verb === "list" && call.namespace === "old");
  assert.ok(lists.length < 60, `${lists.length} lists in a minute`);
  world.api.drop(refs.configmaps, "old", "held");
  await world.advance(15_000);
  assert.deepEqual(stored(world)?.spec?.finalizers, []);
  await world.stop();
});

test("a kind that cannot be emptied, or a group that cannot be read, keeps the namespace", async () => {
  const served: Record<string, unknown> = { ...documents };
  delete served["/apis/apps/v1beta1"];
  const world = createWorld(served);
  put(world, "c");
  const refusal = failure(500, "InternalError", "webhook is away");
  world.api.fail((call) => call.verb === "deletecollection", refusal, 1);
  going(world);
  await world.start((deps) => new NamespaceController(deps));
  assert.equal(
    condition(world, "NamespaceDeletionContentFailure"),
    "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: webhook is away",
  );
  assert.equal(
    condition(world, "NamespaceDeletionDiscoveryFailure"),
    "True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: apps/v1beta1: stale GroupVersion discovery: apps/v1beta1",
  );
  await world.advance(20_000);
  assert.deepEqual(stored(world)?.spec?.finalizers, ["kubernetes"]);
  served["/apis/apps/v1beta1"] = documents["/apis/apps/v1beta1"];
  await world.advance(20_000);
  assert.deepEqual(stored(world)?.spec?.finalizers, []);
  await world.stop();
});

test("objects that nothing holds and that stay are unexpected; pods only once their grace is over", async () => {
  const world = createWorld(documents);
  const spec = { containers: [], nodeName: "n1", terminationGracePeriodSeconds: 30n };
  const metadata = { namespace: "old", deletionTimestamp: world.now() };
  world.api.put(refs.pods, pod("p", { spec, metadata }));
  going(world);
  await world.start((deps) => new NamespaceController(deps));
  assert.match(condition(world, "NamespaceDeletionContentFailure"), /^False ContentDeleted/);
  await world.advance(60_000);
  assert.equal(
    condition(world, "NamespaceDeletionContentFailure"),
    "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: old for gvr: /v1, Resource=pods",
  );
  await world.stop();
});
