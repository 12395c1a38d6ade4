/** Pods created and deleted for an owner: what is expected, recorded and thrown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { failure } from "#api/status.ts";
import type { EventRecorder } from "#client/events.ts";
import { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { PodControl, type PodOwner } from "./pod-control.ts";

const owner: PodOwner = { key: "a", object: { metadata: { name: "a", namespace: "default" } } };

/** The cache holds `held` and shows no write. */
function controlIn(world: World, held?: Pod) {
  const { api: client, clock, events } = world;
  const recorder: EventRecorder = {
    event: (_object, type, reason) => void events.push(`${type} ${reason}`),
    flushed: () => Promise.resolve(),
    close: () => Promise.resolve(),
    dropped: 0,
  };
  const cache = { resourceVersion: "0", getByKey: () => held };
  const expectations = new Expectations<Pod>(cache, clock);
  return { control: new PodControl({ client, recorder }, expectations), expectations };
}

const terminating = failure(403, "Forbidden", "namespace is being terminated", {
  causes: [{ reason: "NamespaceTerminating" }],
});

test("a created pod is recorded and expected", async () => {
  const world = createWorld();
  const { control, expectations } = controlIn(world);
  const result = await control.createPods(owner, [pod("x"), pod("y")]);
  assert.deepEqual(result, { succeeded: 2, error: undefined });
  assert.equal(expectations.isSatisfied("a"), false);
  assert.deepEqual(world.events, ["Normal SuccessfulCreate", "Normal SuccessfulCreate"]);
});

test("a refused create is recorded once and returned; one by a terminating namespace is not", async () => {
  const world = createWorld();
  const { control } = controlIn(world);
  const pods = [pod("x"), pod("y"), pod("z")];
  world.api.fail(({ verb }) => verb === "create", failure(403, "Forbidden", "exceeded quota"));
  assert.match(String((await control.createPods(owner, pods)).error), /exceeded quota/);
  world.api.fail(({ verb }) => verb === "create", terminating);
  assert.equal((await control.createPods(owner, pods)).error, undefined);
  assert.deepEqual(world.events, ["Warning FailedCreate"]);
});

test("a deletion is expected until the cache shows it; a failed one is not", async () => {
  const world = createWorld();
  const held = world.api.put(refs.pods, pod("x"));
  const { control, expectations } = controlIn(world, held);
  world.api.fail(({ verb }) => verb === "delete", failure(500, "InternalError", "down"));
  await assert.rejects(control.deletePod(owner, held), /down/);
  assert.equal(expectations.isSatisfied("a"), true);
  await control.deletePod(owner, held);
  assert.equal(expectations.isSatisfied("a"), false);
});

test("a pod that is gone already counts as deleted", async () => {
  const world = createWorld();
  const gone = pod("x");
  const { control, expectations } = controlIn(world, gone);
  await control.deletePod(owner, gone);
  assert.deepEqual([expectations.isSatisfied("a"), world.events], [true, []]);
});
