/** Owners and dependents stay consistent for any order of events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { foregroundFinalizer, orphanFinalizer, OwnerGraph, type GraphNode } from "./graph.ts";

const ref = { group: "", version: "v1", resource: "configmaps" };

function by(uid: string, blockOwnerDeletion = true): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name: uid, uid, blockOwnerDeletion };
}

function object(
  uid: string,
  owners: readonly OwnerReference[] = [],
  finalizer?: string,
): KubeObject {
  const going = finalizer === undefined ? {} : { deletionTimestamp: "t", finalizers: [finalizer] };
  return { metadata: { name: uid, namespace: "default", uid, ownerReferences: owners, ...going } };
}

const uids = (nodes: readonly GraphNode[]): readonly string[] =>
  nodes.map((node) => node.uid).toSorted();

test("an owner known by reference only is there until its dependents are gone", () => {
  const graph = new OwnerGraph();
  assert.deepEqual(uids(graph.observe(ref, object("child", [by("owner")])).collect), ["child"]);
  assert.equal(graph.get("owner")?.isObserved, false);
  graph.observe(ref, object("child"));
  assert.equal(graph.get("owner"), undefined);
  assert.equal(graph.size, 1);
});

test("dependents are looked at when an owner goes, owners that wait when a dependent goes", () => {
  const graph = new OwnerGraph();
  graph.observe(ref, object("owner"));
  graph.observe(ref, object("a", [by("owner")]));
  graph.observe(ref, object("b", [by("owner")]));
  const waiting = graph.observe(ref, object("owner", [], foregroundFinalizer));
  assert.deepEqual(uids(waiting.collect), ["a", "b", "owner"]);
  assert.deepEqual(uids(graph.remove("a").collect), ["owner"]);
  const freed = graph.observe(ref, object("b", [by("owner", false)]));
  assert.deepEqual(uids(freed.collect), ["b", "owner"]);
  assert.deepEqual(uids(graph.remove("owner").collect), ["b"]);
});

test("only dependents that block hold a foreground deletion up", () => {
  const graph = new OwnerGraph();
  graph.observe(ref, object("owner"));
  graph.observe(ref, object("a", [by("owner")]));
  graph.observe(ref, object("b", [by("owner", false)]));
  const owner = graph.get("owner");
  assert.ok(owner !== undefined);
  assert.deepEqual(uids(graph.blocking(owner)), ["a"]);
});

test("an object with the orphan finalizer is for the orphaning loop once it is going", () => {
  const graph = new OwnerGraph();
  assert.deepEqual(uids(graph.observe(ref, object("o", [], orphanFinalizer)).orphan), ["o"]);
  assert.equal(graph.get("o")?.policy, "Orphan");
  assert.deepEqual(graph.observe(ref, object("p")).orphan, []);
});

test("an update that says nothing about owners wakes nobody", () => {
  const graph = new OwnerGraph();
  graph.observe(ref, object("child", [by("owner")]));
  assert.deepEqual(graph.observe(ref, object("child", [by("owner")])), { collect: [], orphan: [] });
});

test("after any history the graph equals the objects there are, and both directions agree", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e");
  const step = fc.record({
    uid: name,
    gone: fc.boolean(),
    owners: fc.uniqueArray(name, { maxLength: 3 }),
    waits: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const graph = new OwnerGraph();
      const model = new Map<string, readonly string[]>();
      for (const { uid, gone, owners, waits } of steps) {
        if (gone) {
          graph.remove(uid);
          model.delete(uid);
        } else {
          const references = owners.map((owner) => by(owner));
          graph.observe(ref, object(uid, references, waits ? foregroundFinalizer : undefined));
          model.set(uid, owners);
        }
        graph.check();
      }
      for (const uid of ["a", "b", "c", "d", "e"]) {
        const node = graph.get(uid);
        const expected = [...model]
          .filter(([, owners]) => owners.includes(uid))
          .map(([one]) => one);
        assert.deepEqual(uids([...(node?.dependents ?? [])]), expected.toSorted());
        assert.equal(node?.isObserved ?? false, model.has(uid));
      }
    }),
  );
});
