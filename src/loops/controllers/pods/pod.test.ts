/** Which pods go first, and when a pod counts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { pod } from "../testing/world.ts";
import * as pods from "./pod.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const ago = (seconds: number): string => formatTime(nowMs - seconds * 1000);

interface Traits {
  readonly node?: string;
  readonly phase?: string;
  /** Seconds it has been ready; absent: it is not. */
  readonly ready?: number;
  readonly age?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly uid?: string;
}

function make(traits: Traits): Pod {
  const { node = "n1", phase = "Running", ready, age = 1000, cost, restarts = 0 } = traits;
  const annotations = cost === undefined ? {} : { [costKey]: cost };
  const lastTransitionTime = ago(ready ?? 0);
  const status = ready === undefined ? "False" : "True";
  const container = { name: "main", restartCount: restarts, ready: true, image: "", imageID: "" };
  return pod("p", {
    metadata: { uid: traits.uid ?? "u", creationTimestamp: ago(age), annotations },
    spec: { containers: [], nodeName: node },
    status: {
      phase,
      conditions: [{ type: "Ready", status, lastTransitionTime }],
      containerStatuses: [container],
    },
  });
}

const costKey = "controller.kubernetes.io/pod-deletion-cost";
const best: Traits = { ready: 600 };
const order: readonly (readonly [string, Traits, Traits])[] = [
  ["not assigned before assigned", { node: "" }, { phase: "Pending" }],
  ["pending before running", { phase: "Pending", ready: 600 }, {}],
  ["not ready before ready", { cost: "100" }, best],
  ["cheap before dear", { ...best, cost: "-5" }, best],
  ["a cost that is no number counts as none", { ...best, cost: "1" }, { ...best, cost: "2" }],
  ["a cost with a plus is no number", { ...best, cost: "+9" }, { ...best, cost: "1" }],
  ["crowded before alone", { ...best, node: "full" }, best],
  ["shortly ready before long", { ready: 10 }, best],
  ["many restarts before few", { ...best, restarts: 3 }, best],
  ["young before old", { ...best, age: 700 }, { ...best, age: 100_000 }],
  ["ages of one power of two: by uid", { ...best, age: 900, uid: "a" }, { ...best, uid: "b" }],
];
const crowd = (one: Pod): number => (one.spec?.nodeName === "full" ? 2 : 1);
const compare = pods.compareForDeletion(nowMs, crowd);
for (const [what, first, second] of order) {
  test(`of two pods goes first: ${what}`, () => {
    assert.ok(compare(make(first), make(second)) < 0);
    assert.ok(compare(make(second), make(first)) > 0);
  });
}

const traits: fc.Arbitrary<Traits> = fc.record(
  {
    node: fc.constantFrom("", "n1", "full"),
    phase: fc.constantFrom("Pending", "Running", "Unknown"),
    ready: fc.constantFrom(1, 10, 600),
    age: fc.constantFrom(1, 700, 900, 100_000),
    cost: fc.constantFrom("1", "-1", "x"),
    restarts: fc.nat(2),
    uid: fc.constantFrom("a", "b", "c"),
  },
  { requiredKeys: [] },
);

test("either of two goes first, and swapping them changes nothing", () => {
  fc.assert(
    fc.property(traits, traits, (a, b) => {
      for (const comparison of [compare, pods.compareActive]) {
        const [there, back] = [comparison(make(a), make(b)), comparison(make(b), make(a))];
        assert.equal(Math.sign(there), 0 - Math.sign(back));
      }
    }),
  );
});

test("available: ready for as long as asked, from the time it says itself", () => {
  const since = (seconds: number): number =>
    pods.availableInMs(make({ ready: seconds }), 30, nowMs);
  assert.deepEqual([since(0), since(10), since(30)], [30_000, 20_000, 0]);
  assert.equal(pods.isAvailable(make({}), 0, nowMs), false);
  assert.equal(pods.isAvailable(make({ ready: 0 }), 0, nowMs), true);
  assert.equal(pods.isAvailable(make({ ready: 29 }), 30, nowMs), false);
});
