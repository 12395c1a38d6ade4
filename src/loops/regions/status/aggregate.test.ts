/** The status of the whole, as `kubectl rollout status` reads it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { aggregateReplicas, type RegionPart } from "./aggregate.ts";

const now = { nowText: "2026-01-01T00:00:00Z" };
const web: AnyObject = {
  kind: "Deployment",
  metadata: { name: "web", generation: 2 },
  spec: { replicas: 5 },
  status: { observedGeneration: 1 },
};

function part(asked: number, fields: object, generation = "2"): RegionPart {
  return {
    asked,
    object: {
      kind: "Deployment",
      metadata: {
        generation: 7,
        annotations: { "regions.pilothouse.dev/source-generation": generation },
      },
      spec: { strategy: { rollingUpdate: { maxSurge: 1 } } },
      status: {
        observedGeneration: 7,
        conditions: [{ type: "Available", status: "True" }],
        ...fields,
      },
    },
  };
}

const full = (count: number) => ({
  replicas: count,
  updatedReplicas: count,
  readyReplicas: count,
  availableReplicas: count,
});

test("counts add up, and the generation is observed when every region has seen it", () => {
  const status = aggregateReplicas(web, [part(3, full(3)), part(2, full(2))], now);
  assert.equal(status["readyReplicas"], 5);
  assert.equal(status["observedGeneration"], 2);
  assert.equal(status["unavailableReplicas"], 0);
  const reasons = (status["conditions"] as readonly { reason: string }[]).map(
    ({ reason }) => reason,
  );
  assert.deepEqual(reasons, ["MinimumReplicasAvailable", "NewReplicaSetAvailable"]);
});

test("a region that has an older generation, or has not looked at it, holds the generation back", () => {
  const old = aggregateReplicas(web, [part(3, full(3), "1"), part(2, full(2))], now);
  assert.equal(old["observedGeneration"], 1);
  const unseen = part(2, { ...full(2), observedGeneration: 6 });
  assert.equal(aggregateReplicas(web, [part(3, full(3)), unseen], now)["observedGeneration"], 1);
  const silent = { object: undefined, asked: 2 };
  const status = aggregateReplicas(web, [part(3, full(3)), silent], now);
  assert.deepEqual([status["observedGeneration"], status["readyReplicas"]], [1, 3]);
});

test("a region cannot claim more than it was asked for and its surge", () => {
  const lie = part(2, { ...full(1_000), readyReplicas: -5, availableReplicas: 1.5 });
  const status = aggregateReplicas(web, [part(3, full(3)), lie], now);
  assert.equal(status["replicas"], 6);
  assert.equal(status["readyReplicas"], 3);
  assert.equal(status["availableReplicas"], 3);
});

test("one region past its deadline fails the rollout of the whole", () => {
  const late = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
  const status = aggregateReplicas(web, [part(3, { ...full(1), conditions: [late] })], now);
  assert.match(JSON.stringify(status["conditions"]), /"ProgressDeadlineExceeded"/);
});

test("the same parts give the same status, times included", () => {
  const first = aggregateReplicas(web, [part(5, full(5))], now);
  const later = { nowText: "2026-01-01T01:00:00Z" };
  assert.deepEqual(aggregateReplicas({ ...web, status: first }, [part(5, full(5))], later), first);
});
