/** Which step of a rollout comes next, and how each step sizes the ReplicaSets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import { selector, template } from "../testing/world.ts";
import { planScales, planStep, type Rollout, type StepName } from "./plan.ts";
import { desiredAnnotation } from "./revision.ts";

function replicaSet(name: string, replicas: number, available = replicas): ReplicaSet {
  return {
    metadata: { name, uid: `uid-${name}`, annotations: { [desiredAnnotation]: "4" } },
    spec: { replicas, selector, template },
    status: { replicas, readyReplicas: available, availableReplicas: available },
  };
}

function rollout(
  spec: Partial<NonNullable<Deployment["spec"]>> = {},
  fields: Partial<Rollout> = {},
): Rollout {
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
  const deployment = { spec: { replicas: 4, selector, template, strategy, ...spec } };
  const olds = [replicaSet("old", 4)];
  return { key: "a", deployment, newest: undefined, olds, hasOldPods: false, nowMs: 0, ...fields };
}

const recreate = { strategy: { type: "Recreate" } };
const empty = { olds: [replicaSet("old", 0)] };
const terminating = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
const cases: readonly (readonly [string, Rollout, StepName])[] = [
  ["a Deployment under deletion does nothing", rollout({}, { deployment: terminating }), "none"],
  ["a pause comes before a scaling event", rollout({ paused: true, replicas: 9 }), "pause"],
  ["a scaling event comes before the rollout", rollout({ replicas: 9 }), "scale"],
  ["a new template is rolled out", rollout(), "roll"],
  ["Recreate empties the old ReplicaSets first", rollout(recreate), "empty"],
  ["Recreate waits for old pods", rollout(recreate, { ...empty, hasOldPods: true }), "wait"],
  ["Recreate creates when the old pods are gone", rollout(recreate, empty), "recreate"],
];
for (const [what, given, step] of cases) {
  test(what, () => assert.equal(planStep(given).name, step));
}

function scalesOf(given: Rollout, name: StepName, newest: ReplicaSet | undefined) {
  return planScales(given, name, newest).map(
    (scale) => `${scale.replicaSet.metadata?.name ?? ""}=${scale.replicas}`,
  );
}

test("a rolling step either grows the new ReplicaSet or shrinks the old ones, never both", () => {
  assert.deepEqual(scalesOf(rollout(), "roll", replicaSet("new", 0)), ["new=1"]);
  assert.deepEqual(scalesOf(rollout(), "roll", replicaSet("new", 1, 0)), ["old=3"]);
});

test("Recreate gives the new ReplicaSet all replicas at once", () => {
  assert.deepEqual(scalesOf(rollout(recreate, empty), "recreate", replicaSet("new", 0)), ["new=4"]);
});

test("an empty step scales every running old ReplicaSet to zero", () => {
  const olds = [replicaSet("a", 2), replicaSet("b", 0), replicaSet("c", 1)];
  assert.deepEqual(scalesOf(rollout(recreate, { olds }), "empty", undefined), ["a=0", "c=0"]);
});
