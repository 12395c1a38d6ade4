/** What becomes of an object, by how its owners stand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "#api/object.ts";
import { foregroundFinalizer, OwnerGraph, type GraphNode } from "./graph.ts";
import { planCollect, type CollectPlan, type Verdict } from "./plan.ts";

const ref = { group: "", version: "v1", resource: "configmaps" };
const by = (uid: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: uid,
  uid,
  blockOwnerDeletion: true,
});

interface Given {
  /** Whether the object has a dependent, and whether that one waits for its own dependents. */
  readonly dependent?: "plain" | "waiting";
  readonly finalizers?: readonly string[];
}

function judged({ dependent, finalizers = [] }: Given = {}): GraphNode {
  const graph = new OwnerGraph();
  const put = (uid: string, metadata: KubeObject["metadata"]): void => {
    graph.observe(ref, { metadata: { uid, name: uid, namespace: "default", ...metadata } });
  };
  put("object", { ownerReferences: [by("a"), by("b")], finalizers });
  const going = { deletionTimestamp: "t", finalizers: [foregroundFinalizer] };
  if (dependent !== undefined)
    put("dependent", {
      ownerReferences: [by("object")],
      ...(dependent === "waiting" ? going : {}),
    });
  const node = graph.get("object");
  assert.ok(node !== undefined);
  return node;
}

const cases: readonly (readonly [string, Given, readonly Verdict[], CollectPlan])[] = [
  ["all owners live: it is kept", {}, ["solid", "unseen"], { kind: "keep" }],
  ["one is absent: the others stay", {}, ["absent", "solid"], setOwners([by("b")])],
  ["one is waiting: the others stay", {}, ["unseen", "waiting"], setOwners([by("a")])],
  ["one cannot be judged: nothing is done", {}, ["absent", "unknown"], { kind: "keep" }],
  ["one can never be its owner: nothing is done", {}, ["absent", "invalid"], { kind: "keep" }],
  ["all are absent: it goes in the background", {}, ["absent", "absent"], remove("Background")],
  [
    "its own finalizer asks for another policy",
    { finalizers: ["orphan"] },
    ["absent", "absent"],
    remove("Orphan"),
  ],
  ["an owner waits, no dependents: background", {}, ["waiting", "absent"], remove("Background")],
  [
    "an owner waits, dependents: foreground",
    { dependent: "plain" },
    ["waiting", "absent"],
    remove("Foreground"),
  ],
  [
    "an owner waits and so does a dependent: it stops blocking its owners",
    { dependent: "waiting" },
    ["waiting", "absent"],
    setOwners(["a", "b"].map((uid) => ({ ...by(uid), blockOwnerDeletion: false }))),
  ],
];

for (const [name, given, verdicts, plan] of cases)
  test(name, () => assert.deepEqual(planCollect(judged(given), verdicts), plan));

function setOwners(owners: readonly ReturnType<typeof by>[]): CollectPlan {
  return { kind: "set-owners", owners };
}

function remove(policy: GraphNode["policy"]): CollectPlan {
  return { kind: "delete", policy };
}
