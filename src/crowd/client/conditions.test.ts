/** Conditions of a status: what moves their time, and their place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withCondition, withReason, type Condition } from "./conditions.ts";

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
