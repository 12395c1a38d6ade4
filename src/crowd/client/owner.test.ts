/** The controller of an object, and whom a change of the object wakes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "#api/object.ts";
import { controllerKey, ownerKeys } from "./owner.ts";

test("a controller is found by group and kind, in whatever version", () => {
  const owners = (apiVersion: string, kind: string, controller: boolean) => ({
    metadata: {
      namespace: "ns",
      ownerReferences: [{ apiVersion, kind, name: "a", uid: "u", controller }],
    },
  });
  const gvk = { group: "apps", kind: "ReplicaSet" };
  assert.equal(controllerKey(owners("apps/v1beta1", "ReplicaSet", true), gvk), "ns/a");
  assert.equal(controllerKey(owners("apps/v1", "ReplicaSet", false), gvk), undefined);
  assert.equal(controllerKey(owners("v1", "ReplicaSet", true), gvk), undefined);
  assert.equal(controllerKey(owners("v1", "Pod", true), { group: "", kind: "Pod" }), "ns/a");
});

test("a change wakes the controller; of an orphan, every owner of its namespace that would adopt it", () => {
  const named = (name: string): KubeObject => ({ metadata: { name, namespace: "ns" } });
  const owners = [named("a"), named("b"), named("c")];
  const asked: (string | undefined)[] = [];
  const list = (namespace?: string): readonly KubeObject[] => (asked.push(namespace), owners);
  const keysOf = ownerKeys(
    { list },
    { group: "apps", kind: "ReplicaSet" },
    (owner) => owner.metadata?.name !== "b",
  );
  const owned = (kind: string): KubeObject => ({
    metadata: {
      namespace: "ns",
      ownerReferences: [{ apiVersion: "apps/v1", kind, name: "b", uid: "u", controller: true }],
    },
  });
  assert.deepEqual(keysOf(owned("ReplicaSet")), ["ns/b"]);
  assert.deepEqual(keysOf(owned("DaemonSet")), []);
  assert.deepEqual(asked, [], "what has a controller is matched with no owner");
  assert.deepEqual(keysOf({ metadata: { namespace: "ns" } }), ["ns/a", "ns/c"]);
  assert.deepEqual(asked, ["ns"]);
});
