/** The arithmetic of N pods: how many to make, which to delete, what the status says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Pod } from "#api/gen/types.ts";
import { isActive } from "../pods/pod.ts";
import { pod, readyStatus } from "../testing/world.ts";
import { burstReplicas, planReplicas, replicaStatus, type StatusInput } from "./replicas.ts";

const now = "2026-01-01T00:00:00Z";
const nowMs = Date.parse(now);
const noCrowd = (): number => 0;
const ago = (seconds: number): string =>
  new Date(nowMs - seconds * 1000).toISOString().replace(".000Z", "Z");

const ready = (name: string, seconds: number, fields: Partial<Pod> = {}): Pod =>
  pod(name, {
    spec: { containers: [], nodeName: "n1" },
    status: readyStatus(ago(seconds)),
    ...fields,
    metadata: { creationTimestamp: ago(seconds + 10), ...fields.metadata },
  });

/** Of the two pods the first goes first. */
const order: readonly (readonly [string, Pod, Pod])[] = [
  ["an unassigned pod before an assigned one", pod("b"), ready("a", 100)],
  [
    "a pending pod before a running one",
    pod("b", { spec: { containers: [], nodeName: "n" }, status: { phase: "Pending" } }),
    pod("a", { spec: { containers: [], nodeName: "n" } }),
  ],
  [
    "a pod that is not ready before one that is",
    pod("b", { spec: { containers: [], nodeName: "n" } }),
    ready("a", 100),
  ],
  [
    "a lower deletion cost before a higher one",
    ready("b", 5000, {
      metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": "-1" } },
    }),
    ready("a", 1),
  ],
  ["a shorter readiness before a longer one", ready("b", 10), ready("a", 1000)],
  [
    "equal readiness: more restarts before fewer",
    ready("b", 10, {
      status: {
        ...readyStatus(ago(10)),
        containerStatuses: [{ name: "main", restartCount: 3, image: "", imageID: "", ready: true }],
      },
    }),
    ready("a", 10),
  ],
  [
    "equal readiness and restarts: the younger before the older",
    ready("b", 10, { metadata: { creationTimestamp: ago(11) } }),
    ready("a", 10, { metadata: { creationTimestamp: ago(4000) } }),
  ],
  ["times within one power of two: by uid", ready("a", 1000), ready("b", 900)],
];

for (const [what, first, second] of order) {
  test(`deletion order: ${what}`, () => {
    for (const pods of [
      [first, second],
      [second, first],
    ]) {
      const plan = planReplicas(pods, 1, nowMs, noCrowd);
      assert.deepEqual(
        plan.remove.map((one) => one.metadata?.name),
        [first.metadata?.name],
      );
    }
  });
}

test("of ready pods the one on the more crowded node goes first", () => {
  const crowded = ready("b", 5000, { spec: { containers: [], nodeName: "full" } });
  const alone = ready("a", 1, { spec: { containers: [], nodeName: "empty" } });
  const crowd = (one: Pod): number => (one.spec?.nodeName === "full" ? 2 : 1);
  assert.equal(planReplicas([alone, crowded], 1, nowMs, crowd).remove[0], crowded);
});

test("the plan ends at the wanted number, in steps of the burst at most", () => {
  const phase = fc.constantFrom("Pending", "Running", "Succeeded", "Failed");
  const given = fc.record({ phase, going: fc.boolean() });
  fc.assert(
    fc.property(fc.array(given, { maxLength: 30 }), fc.nat(600), (states, replicas) => {
      const pods = states.map((state, at) =>
        pod(`p${at}`, {
          status: { phase: state.phase },
          metadata: state.going ? { deletionTimestamp: now } : {},
        }),
      );
      const active = pods.filter(isActive).length;
      const plan = planReplicas(pods, replicas, nowMs, noCrowd);
      assert.ok(plan.remove.every(isActive));
      assert.ok(plan.create === 0 || plan.remove.length === 0);
      assert.ok(plan.create <= burstReplicas);
      const after = active + plan.create - plan.remove.length;
      assert.equal(after, Math.min(replicas, active + burstReplicas));
    }),
  );
});

const input: StatusInput = {
  pods: [],
  template: { metadata: { labels: { app: "web" } } },
  minReadySeconds: 0,
  generation: 3,
  old: undefined,
  failure: "none",
  countsTerminating: true,
  nowMs,
  now,
};

test("the status counts active pods; those on their way out apart", () => {
  const labels = { app: "web" };
  const pods = [
    ready("a", 100, { metadata: { labels } }),
    ready("b", 5, { metadata: { labels } }),
    pod("c"),
    pod("gone", { metadata: { deletionTimestamp: now } }),
    pod("ended", { status: { phase: "Failed" }, metadata: { deletionTimestamp: now } }),
  ];
  assert.deepEqual(replicaStatus({ ...input, pods, minReadySeconds: 10 }), {
    replicas: 3,
    fullyLabeledReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 1,
    terminatingReplicas: 1,
    observedGeneration: 3,
  });
  assert.equal(
    replicaStatus({ ...input, pods, countsTerminating: false }).terminatingReplicas,
    undefined,
  );
});

test("a failure is a condition that keeps its first message until there is none", () => {
  const failure = { reason: "FailedCreate", message: "pods x-1 refused" } as const;
  const first = replicaStatus({ ...input, failure });
  const condition = { type: "ReplicaFailure", status: "True", lastTransitionTime: now, ...failure };
  assert.deepEqual(first.conditions, [condition]);
  const again = { ...failure, message: "pods x-2 refused" };
  const old = first.conditions;
  assert.deepEqual(replicaStatus({ ...input, old, failure: again }).conditions, old);
  assert.deepEqual(replicaStatus({ ...input, old, failure: "unknown" }).conditions, old);
  assert.equal(replicaStatus({ ...input, old }).conditions, undefined);
});
