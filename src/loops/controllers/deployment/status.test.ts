/** The status of a Deployment: counters, availability, progress and its deadline. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import type { Condition } from "#client/conditions.ts";
import { deadlineInMs, deploymentStatus, type StatusInput } from "./status.ts";

const now = "2026-01-01T00:10:00Z";
const nowMs = Date.parse(now);

function replicaSet(
  name: string,
  spec: number,
  status: Partial<NonNullable<ReplicaSet["status"]>> = {},
): ReplicaSet {
  const counted = { replicas: spec, observedGeneration: 1, terminatingReplicas: 0, ...status };
  return { metadata: { name }, spec: { replicas: spec, selector: {} }, status: counted };
}

function deployment(fields: object = {}, status: Deployment["status"] = {}): Deployment {
  const spec = { replicas: 3, selector: {}, template: {}, progressDeadlineSeconds: 600 };
  return { metadata: { name: "web", generation: 2 }, spec: { ...spec, ...fields }, status };
}

function input(
  newest: ReplicaSet | undefined,
  olds: readonly ReplicaSet[] = [],
  rest: Partial<StatusInput> = {},
): StatusInput {
  const all = newest === undefined ? olds : [...olds, newest];
  const fixed = { conditions: [], collisionCount: undefined, rolling: true, nowMs, now };
  return { deployment: deployment(), newest, all, ...fixed, ...rest };
}

function condition(status: Deployment["status"], type: string): Condition | undefined {
  return status?.conditions?.find((one) => one.type === type);
}

test("counters are sums over all ReplicaSets; zero ones are left out, terminating is not", () => {
  const newest = replicaSet("new", 2, { readyReplicas: 2, availableReplicas: 1 });
  const old = replicaSet("old", 2, {
    readyReplicas: 1,
    availableReplicas: 1,
    terminatingReplicas: 2,
  });
  const { conditions: _conditions, ...counters } = deploymentStatus(input(newest, [old]));
  assert.deepEqual(counters, {
    observedGeneration: 2,
    replicas: 4,
    updatedReplicas: 2,
    readyReplicas: 3,
    availableReplicas: 2,
    unavailableReplicas: 2,
    terminatingReplicas: 2,
  });
});

test("terminating pods are not known while a ReplicaSet that was looked at does not say", () => {
  const mute: ReplicaSet = {
    spec: { replicas: 1, selector: {} },
    status: { replicas: 1, observedGeneration: 1 },
  };
  assert.equal(deploymentStatus(input(mute)).terminatingReplicas, undefined);
  const fresh: ReplicaSet = { spec: { replicas: 1, selector: {} }, status: { replicas: 0 } };
  assert.equal(deploymentStatus(input(fresh)).terminatingReplicas, 0);
});

const available: readonly (readonly [number, string, string])[] = [
  [3, "True", "MinimumReplicasAvailable"],
  [2, "False", "MinimumReplicasUnavailable"],
];
for (const [count, status, reason] of available) {
  test(`${count} of 3 available with 25% unavailable allowed: Available is ${status}`, () => {
    const newest = replicaSet("new", 3, { availableReplicas: count });
    const got = condition(deploymentStatus(input(newest)), "Available");
    assert.deepEqual([got?.status, got?.reason], [status, reason]);
  });
}

const started: Condition = {
  type: "Progressing",
  status: "True",
  reason: "NewReplicaSetCreated",
  message: "",
  lastUpdateTime: "2026-01-01T00:05:00Z",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

test("all replicas new and available: NewReplicaSetAvailable, named after the ReplicaSet", () => {
  const newest = replicaSet("web-1", 3, { readyReplicas: 3, availableReplicas: 3 });
  const status = deploymentStatus(input(newest, [], { conditions: [started] }));
  const got = condition(status, "Progressing");
  assert.equal(got?.reason, "NewReplicaSetAvailable");
  assert.equal(got?.message, 'ReplicaSet "web-1" has successfully progressed.');
  assert.equal(got?.lastTransitionTime, started.lastTransitionTime);
});

test("progress refreshes lastUpdateTime and keeps lastTransitionTime", () => {
  const newest = replicaSet("new", 3, { readyReplicas: 2, availableReplicas: 2 });
  const got = condition(
    deploymentStatus(input(newest, [], { conditions: [started] })),
    "Progressing",
  );
  assert.deepEqual(
    [got?.reason, got?.lastUpdateTime, got?.lastTransitionTime],
    ["ReplicaSetUpdated", now, started.lastTransitionTime],
  );
});

test("no progress for the deadline: ProgressDeadlineExceeded, once", () => {
  const newest = replicaSet("new", 3, { readyReplicas: 0 });
  const given = deployment({ progressDeadlineSeconds: 60 }, { replicas: 3, updatedReplicas: 3 });
  const late = input(newest, [], { deployment: given, conditions: [started] });
  const status = deploymentStatus(late);
  assert.equal(condition(status, "Progressing")?.reason, "ProgressDeadlineExceeded");
  const again = { ...late, conditions: status.conditions ?? [], now: "2026-01-01T00:20:00Z" };
  assert.deepEqual(deploymentStatus(again).conditions, status.conditions);
});

test("a finished rollout stays finished, whatever its pods do", () => {
  const done = { ...started, reason: "NewReplicaSetAvailable" };
  const newest = replicaSet("new", 3, { availableReplicas: 1 });
  const got = deploymentStatus(input(newest, [], { conditions: [done] }));
  assert.equal(condition(got, "Progressing")?.reason, "NewReplicaSetAvailable");
});

test("while paused or scaling nobody judges progress", () => {
  const paused = { ...started, status: "Unknown", reason: "DeploymentPaused" };
  const newest = replicaSet("new", 3, { readyReplicas: 3, availableReplicas: 3 });
  const got = deploymentStatus(input(newest, [], { conditions: [paused], rolling: false }));
  assert.deepEqual(condition(got, "Progressing"), paused);
});

test("without a deadline there is no Progressing condition", () => {
  for (const progressDeadlineSeconds of [undefined, 2_147_483_647]) {
    const { progressDeadlineSeconds: _no, ...spec } = deployment().spec ?? {
      selector: {},
      template: {},
    };
    const fields = progressDeadlineSeconds === undefined ? {} : { progressDeadlineSeconds };
    const given = { ...deployment(), spec: { ...spec, ...fields } };
    const got = deploymentStatus(
      input(replicaSet("n", 3), [], { deployment: given, conditions: [started] }),
    );
    assert.equal(condition(got, "Progressing"), undefined);
    assert.equal(deadlineInMs(given, started, nowMs), Number.POSITIVE_INFINITY);
  }
});

test("a ReplicaSet's failure shows on the Deployment until it is over", () => {
  const failing = {
    type: "ReplicaFailure",
    status: "True",
    reason: "FailedCreate",
    message: "quota",
  };
  const newest = replicaSet("new", 3, { conditions: [{ ...failing, lastTransitionTime: now }] });
  const status = deploymentStatus(input(newest));
  assert.equal(condition(status, "ReplicaFailure")?.message, "quota");
  const over = input(replicaSet("new", 3), [], { conditions: status.conditions ?? [] });
  assert.equal(condition(deploymentStatus(over), "ReplicaFailure"), undefined);
});
