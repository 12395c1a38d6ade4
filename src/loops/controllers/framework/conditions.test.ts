/** Conditions, owners, shares and equality: the small words of all controllers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { withCondition, withReason, type Condition } from "./conditions.ts";
import { jsonEqual } from "#api/json-value.ts";
import { controllerKey } from "../ownership/owner.ts";
import { roundDownPercent, roundUpPercent } from "../scaling/percent.ts";

const then = "2026-01-01T00:00:00Z";
const now = "2026-01-01T01:00:00Z";
const other: Condition = { type: "Other", status: "True" };
const old: Condition = {
  type: "Ready",
  status: "True",
  reason: "R",
  message: "m",
  lastTransitionTime: then,
};

test("a condition that says the same changes nothing, not even the array", () => {
  const all = [old, other];
  assert.equal(withCondition(all, { ...old, lastTransitionTime: now }), all);
  assert.equal(withReason(all, { ...old, message: "new", lastTransitionTime: now }), all);
});

test("only a new status moves the time; the place stays, and the others", () => {
  const reworded = withCondition([old, other], { ...old, reason: "S", lastTransitionTime: now });
  assert.deepEqual(reworded, [{ ...old, reason: "S" }, other]);
  const changed = { ...old, status: "False", lastTransitionTime: now };
  assert.deepEqual(withCondition([old, other], changed), [changed, other]);
  assert.deepEqual(withReason([other], changed), [other, changed]);
});

test("shares of a whole round up or down, numbers stay", () => {
  assert.deepEqual([roundUpPercent("25%", 10), roundDownPercent("25%", 10)], [3, 2]);
  assert.deepEqual([roundUpPercent(3, 10), roundDownPercent(3, 10)], [3, 3]);
  assert.deepEqual([roundUpPercent("0%", 10), roundUpPercent("100%", 7)], [0, 7]);
});

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

test("equality of JSON is that of its parsed text, whatever the order of keys", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      assert.equal(jsonEqual(a, structuredClone(a)), true);
      const sorted = (value: unknown): string => JSON.stringify(value, sortKeys);
      assert.equal(jsonEqual(a, b), sorted(a) === sorted(b));
    }),
  );
  assert.equal(jsonEqual({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(jsonEqual([1], { 0: 1 }), false);
});

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test("what changed last is last in a Deployment's conditions; elsewhere a condition keeps its place", () => {
  const both = [
    { type: "Available", status: "False", reason: "A" },
    { type: "Progressing", status: "True", reason: "B" },
  ];
  const types = (list: readonly Condition[]): string[] => list.map(({ type }) => type);
  const next = { type: "Available", status: "True", reason: "C" };
  assert.deepEqual(types(withReason(both, next)), ["Progressing", "Available"]);
  assert.deepEqual(types(withCondition(both, next)), ["Available", "Progressing"]);
  assert.equal(withReason(both, { ...next, status: "False", reason: "A" }), both);
});
