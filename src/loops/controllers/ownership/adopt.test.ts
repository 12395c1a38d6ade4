/** Which objects are adopted and released, and the patches written for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import type { Pod, ReplicaSet } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { claim, type Adopter } from "./adopt.ts";
import { refs } from "../framework/refs.ts";

const owner: ReplicaSet = {
  metadata: { name: "rs", namespace: "default", uid: "uid-rs" },
};
const reference: OwnerReference = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  name: "rs",
  uid: "uid-rs",
  controller: true,
  blockOwnerDeletion: true,
};
const matching = { labels: { app: "web" } };

function adopterIn(world: World, fields: Partial<Adopter<Pod>> = {}): Adopter<Pod> {
  return {
    client: world.api,
    ref: refs.pods,
    owner,
    ownerRef: refs.replicasets,
    reference,
    matches: (one) => one.metadata?.labels?.["app"] === "web",
    ...fields,
  };
}

function seed(world: World, metadata: Pod["metadata"]): Pod {
  return world.api.put(refs.pods, pod("p", given({ metadata })));
}

const going = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["a/b"] };
const ours = { ownerReferences: [reference] };
const theirs = { ownerReferences: [{ ...reference, uid: "uid-other" }] };
const cases: readonly (readonly [string, Pod["metadata"], boolean, readonly string[]])[] = [
  ["an orphan that matches is adopted", matching, true, ["patch pods default/p"]],
  ["an orphan that does not match is left", {}, false, []],
  ["an orphan on its way out is left", { ...matching, ...going }, false, []],
  ["one of ours that matches is ours", { ...matching, ...ours }, true, []],
  ["one of ours that is going is ours still", { ...matching, ...ours, ...going }, true, []],
  ["one of ours that matches no longer is let go", ours, false, ["patch pods default/p"]],
  ["another's is left", { ...matching, ...theirs }, false, []],
];
for (const [what, metadata, isOurs, writes] of cases) {
  test(what, async () => {
    const world = createWorld();
    world.api.put(refs.replicasets, owner);
    const one = seed(world, metadata);
    assert.equal((await claim(adopterIn(world), [one])).length, isOurs ? 1 : 0);
    assert.deepEqual(world.writes(), writes);
    const owners = world.api.peek<Pod>(refs.pods, "default", "p")?.metadata?.ownerReferences ?? [];
    assert.equal(
      owners.some(({ uid }) => uid === "uid-rs"),
      isOurs,
    );
  });
}

test("an owner that is going takes nothing, and lets nothing go", async () => {
  const world = createWorld();
  const leaving = { metadata: { ...owner.metadata, deletionTimestamp: "t" } };
  world.api.put(refs.replicasets, leaving);
  for (const metadata of [matching, ours])
    await claim(adopterIn(world, { owner: leaving }), [seed(world, metadata)]);
  assert.deepEqual(world.writes(), []);
});

test("the server's word counts, not the cache's: a deleted or replaced owner adopts nothing", async () => {
  for (const stored of [undefined, { metadata: { ...owner.metadata, uid: "uid-namesake" } }]) {
    const world = createWorld();
    if (stored !== undefined) world.api.put(refs.replicasets, stored);
    assert.deepEqual(await claim(adopterIn(world), [seed(world, matching)]), []);
    assert.deepEqual(world.writes(), []);
  }
});

test("the owner is asked for once, however many orphans there are", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, owner);
  const orphans = ["a", "b", "c"].map((name) =>
    world.api.put(refs.pods, pod(name, { metadata: matching })),
  );
  assert.equal((await claim(adopterIn(world), orphans)).length, 3);
  assert.equal(world.api.calls.filter(({ verb }) => verb === "get").length, 1);
});

test("an orphan that changed meanwhile fails the claim; one that is gone does not", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, owner);
  const stale = seed(world, matching);
  const { metadata } = seed(world, { labels: { app: "web", more: "yes" } });
  await assert.rejects(claim(adopterIn(world), [stale]), /modified|conflict|Conflict/);
  assert.equal(
    world.api.peek<Pod>(refs.pods, "default", "p")?.metadata?.ownerReferences,
    undefined,
  );
  world.api.drop(refs.pods, "default", "p");
  const gone = pod("p", given({ metadata }));
  assert.deepEqual(await claim(adopterIn(world), [gone]), []);
});

test("a finalizer comes with adoption and goes with release, others stay", async () => {
  const world = createWorld();
  world.api.put(refs.replicasets, owner);
  const wrote: Pod[] = [];
  const adopter = adopterIn(world, { finalizer: "x/tracking", onWrite: (one) => wrote.push(one) });
  await claim(adopter, [seed(world, { ...matching, finalizers: ["a/b"] })]);
  const adopted = world.api.peek<Pod>(refs.pods, "default", "p");
  assert.deepEqual(adopted?.metadata?.finalizers, ["a/b", "x/tracking"]);
  await claim({ ...adopter, matches: () => false }, adopted === undefined ? [] : [adopted]);
  const released = world.api.peek<Pod>(refs.pods, "default", "p");
  assert.deepEqual(released?.metadata?.finalizers, ["a/b"]);
  assert.equal(wrote.length, 2);
});
