/** What a budget allows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Pod, PodDisruptionBudget } from "#api/gen/types.ts";
import { pod, readyStatus } from "../testing/world.ts";
import { budgetStatus, needsExpected, recheckInMs } from "./budget.ts";

const now = "2026-01-01T00:10:00Z";
const nowMs = Date.parse(now);

function budget(
  spec: NonNullable<PodDisruptionBudget["spec"]>,
  disruptedPods?: Record<string, string>,
): PodDisruptionBudget {
  const counted = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
  return disruptedPods === undefined ? { spec } : { spec, status: { ...counted, disruptedPods } };
}

function pods(ready: number, others = 0): readonly Pod[] {
  return Array.from({ length: ready + others }, (_one, at) =>
    pod(`p${at}`, at < ready ? { status: readyStatus(now) } : {}),
  );
}

/** Spec, ready, not ready, wanted by controllers; desired healthy and allowed. */
const rows: readonly (readonly [
  NonNullable<PodDisruptionBudget["spec"]>,
  number,
  number,
  number,
  number,
  number,
])[] = [
  [{ minAvailable: 2 }, 3, 0, 0, 2, 1],
  [{ minAvailable: 3 }, 3, 0, 0, 3, 0],
  [{ minAvailable: 5 }, 3, 0, 0, 5, 0],
  [{ minAvailable: 1 }, 1, 2, 0, 1, 0],
  [{ minAvailable: "50%" }, 3, 0, 3, 2, 1],
  [{ minAvailable: "34%" }, 3, 0, 3, 2, 1],
  [{ minAvailable: "0%" }, 3, 0, 3, 0, 3],
  [{ minAvailable: "100%" }, 3, 0, 3, 3, 0],
  [{ maxUnavailable: 1 }, 3, 0, 3, 2, 1],
  [{ maxUnavailable: 1 }, 2, 1, 3, 2, 0],
  [{ maxUnavailable: "30%" }, 10, 0, 10, 7, 3],
  [{ maxUnavailable: "25%" }, 10, 0, 10, 7, 3],
  [{ maxUnavailable: "100%" }, 3, 0, 3, 0, 3],
  [{ maxUnavailable: 9 }, 3, 0, 3, 0, 3],
  [{ maxUnavailable: 1 }, 0, 0, 0, 0, 0],
  [{ minAvailable: 0 }, 0, 0, 0, 0, 0],
];
for (const [spec, ready, others, wanted, desiredHealthy, allowed] of rows) {
  test(`${JSON.stringify(spec)} of ${wanted || ready + others} with ${ready} healthy allows ${allowed}`, () => {
    const status = budgetStatus(budget(spec), pods(ready, others), wanted, nowMs);
    assert.deepEqual([status.desiredHealthy, status.disruptionsAllowed], [desiredHealthy, allowed]);
    assert.equal(status.currentHealthy, ready);
  });
}

test("only shares of a whole need to know the whole", () => {
  assert.equal(needsExpected(budget({ minAvailable: 1 })), false);
  assert.equal(needsExpected(budget({ minAvailable: "1%" })), true);
  assert.equal(needsExpected(budget({ maxUnavailable: 1 })), true);
});

test("granted evictions count as gone for two minutes, or until they are", () => {
  const granted = { p0: "2026-01-01T00:09:00Z", p1: "2026-01-01T00:07:59Z", away: now };
  const status = budgetStatus(budget({ minAvailable: 1 }, granted), pods(3), 0, nowMs);
  assert.deepEqual(status.disruptedPods, { p0: granted.p0 });
  assert.deepEqual([status.currentHealthy, status.disruptionsAllowed], [2, 1]);
  assert.equal(recheckInMs(status, nowMs), 60_001);
  const going = pods(3).map((one) => ({
    ...one,
    metadata: { ...one.metadata, deletionTimestamp: now },
  }));
  assert.equal(
    budgetStatus(budget({ minAvailable: 1 }, granted), going, 0, nowMs).disruptedPods,
    undefined,
  );
});

test("as many evictions as allowed never bring the healthy below what is desired", () => {
  const share = fc.oneof(
    fc.nat(12),
    fc.nat(100).map((percent) => `${percent}%`),
  );
  fc.assert(
    fc.property(share, fc.boolean(), fc.nat(10), fc.nat(4), (value, max, ready, others) => {
      const spec = max ? { maxUnavailable: value } : { minAvailable: value };
      const status = budgetStatus(budget(spec), pods(ready, others), ready + others, nowMs);
      assert.ok(status.disruptionsAllowed >= 0);
      if (status.disruptionsAllowed > 0)
        assert.equal(status.currentHealthy - status.disruptionsAllowed, status.desiredHealthy);
    }),
  );
});
