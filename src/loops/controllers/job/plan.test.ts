/** How a Job ends, how many pods it wants, which go; backoff and failures per index. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { pod } from "../testing/world.ts";
import { nextRecord, remainingMs } from "./backoff.ts";
import { failureVerdict } from "./failure-policy.ts";
import { formatIndexes, noIndexes, parseIndexes } from "./indexes.ts";
import { countAnnotations, dueIndexes, findFailedIndexes, heldPods } from "./per-index.ts";
import * as plan from "./plan.ts";
import { makeJobPod } from "./pod.ts";
import { goingOn, tallyPods } from "./tally.ts";
import { indexAnnotation, trackingFinalizer } from "./tracked.ts";

const nowMs = Date.parse("2026-01-01T01:00:00Z");
const at = (secondsAgo: number): string =>
  new Date(nowMs - secondsAgo * 1000).toISOString().replace(".000Z", "Z");

function jobOf(spec: Partial<NonNullable<Job["spec"]>> = {}, status: JobStatus = {}): Job {
  return { metadata: { name: "work" }, spec: { template: {}, ...spec }, status };
}

interface Fields {
  readonly phase?: string;
  readonly index?: number;
  readonly exitCode?: number;
  readonly endedAgo?: number;
  readonly restarts?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly going?: boolean;
}

function podOf(name: string, fields: Fields = {}): Pod {
  const { phase = "Running", index, exitCode = 0, endedAgo, restarts = 0 } = fields;
  const terminated = { exitCode, finishedAt: at(endedAgo ?? 0) };
  const state = endedAgo === undefined && exitCode === 0 ? {} : { terminated };
  const one = { name: "main", image: "", imageID: "", ready: false, restartCount: restarts, state };
  const own = index === undefined ? {} : { [indexAnnotation]: String(index) };
  return pod(name, {
    status: { phase, containerStatuses: [one] },
    metadata: {
      finalizers: [trackingFinalizer],
      creationTimestamp: at(3600),
      annotations: { ...own, ...fields.annotations },
      ...(fields.going ? { deletionTimestamp: at(0) } : {}),
    },
  });
}

function endingOf(job: Job, pods: readonly Pod[]): string | undefined {
  const tally = tallyPods(job, pods, goingOn);
  const failed = findFailedIndexes(job, pods);
  return plan.endingOf(job, pods, tally, { failed, nowMs })?.reason;
}

const fails = (count: number): readonly Pod[] =>
  Array.from({ length: count }, (_one, index) => podOf(`f${index}`, { phase: "Failed", index }));
const indexed = { completionMode: "Indexed", completions: 4 };
const failJob = { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [1] } }] };

const endings: readonly (readonly [string, Job, readonly Pod[], string | undefined])[] = [
  ["at work", jobOf(), [podOf("a")], undefined],
  ["as many failures as allowed", jobOf({ backoffLimit: 2 }), fails(2), undefined],
  ["one more", jobOf({ backoffLimit: 2 }), fails(3), "BackoffLimitExceeded"],
  ["six by default", jobOf(), fails(7), "BackoffLimitExceeded"],
  [
    "restarts count where containers restart in place",
    jobOf({ backoffLimit: 3, template: { spec: { containers: [], restartPolicy: "OnFailure" } } }),
    [podOf("a", { restarts: 2 }), podOf("b", { restarts: 1 })],
    "BackoffLimitExceeded",
  ],
  [
    "the deadline",
    jobOf({ activeDeadlineSeconds: 60 }, { startTime: at(60) }),
    [podOf("a")],
    "DeadlineExceeded",
  ],
  ["not yet", jobOf({ activeDeadlineSeconds: 61 }, { startTime: at(60) }), [podOf("a")], undefined],
  [
    "not while suspended",
    jobOf({ activeDeadlineSeconds: 1, suspend: true }, { startTime: at(60) }),
    [],
    undefined,
  ],
  [
    "a pod failure policy",
    jobOf({ podFailurePolicy: failJob }),
    [podOf("a", { phase: "Failed", exitCode: 1 })],
    "PodFailurePolicy",
  ],
  [
    "which is not asked about a pod that is only going",
    jobOf({ podFailurePolicy: failJob }),
    [podOf("a", { exitCode: 1, going: true })],
    undefined,
  ],
  [
    "a success policy by count",
    jobOf({ ...indexed, successPolicy: { rules: [{ succeededCount: 1 }] } }),
    [podOf("a", { phase: "Succeeded", index: 2 })],
    "SuccessPolicy",
  ],
  [
    "by indexes, all of them",
    jobOf(
      { ...indexed, successPolicy: { rules: [{ succeededIndexes: "0,2" }] } },
      { completedIndexes: "0" },
    ),
    [podOf("a", { phase: "Succeeded", index: 2 })],
    "SuccessPolicy",
  ],
  [
    "by some of them",
    jobOf(
      { ...indexed, successPolicy: { rules: [{ succeededIndexes: "0-3", succeededCount: 2 }] } },
      { completedIndexes: "0" },
    ),
    [podOf("a", { phase: "Succeeded", index: 2 })],
    "SuccessPolicy",
  ],
  [
    "not by others",
    jobOf({ ...indexed, successPolicy: { rules: [{ succeededIndexes: "1", succeededCount: 1 }] } }),
    [podOf("a", { phase: "Succeeded", index: 2 })],
    undefined,
  ],
  [
    "what was decided stays decided",
    jobOf(
      { backoffLimit: 0 },
      { conditions: [{ type: "SuccessCriteriaMet", status: "True", reason: "SuccessPolicy" }] },
    ),
    fails(3),
    "SuccessPolicy",
  ],
  [
    "either way",
    jobOf(
      {},
      { conditions: [{ type: "FailureTarget", status: "True", reason: "DeadlineExceeded" }] },
    ),
    [],
    "DeadlineExceeded",
  ],
  [
    "all indexes over, some failed",
    jobOf({ ...indexed, backoffLimitPerIndex: 0 }, { completedIndexes: "0,1" }),
    [podOf("a", { phase: "Failed", index: 2 }), podOf("b", { phase: "Failed", index: 3 })],
    "FailedIndexes",
  ],
  [
    "too many failed",
    jobOf({ ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 0 }),
    [podOf("a", { phase: "Failed", index: 2 })],
    "MaxFailedIndexesExceeded",
  ],
  [
    "with a limit per index there is no other",
    jobOf({ ...indexed, completions: 20, backoffLimitPerIndex: 5 }),
    fails(12),
    undefined,
  ],
];
for (const [what, job, pods, reason] of endings) {
  test(`ending: ${what}: ${reason}`, () => {
    assert.equal(endingOf(job, pods), reason);
  });
}

const completions: readonly (readonly [number | undefined, number, number, boolean])[] = [
  [3, 3, 0, true],
  [3, 3, 1, false],
  [3, 2, 0, false],
  [undefined, 1, 0, true],
  [undefined, 1, 1, false],
  [undefined, 0, 0, false],
  [0, 0, 0, true],
];
for (const [wanted, succeeded, active, done] of completions) {
  test(`${succeeded} of ${wanted} succeeded, ${active} at work: ${done ? "complete" : "open"}`, () => {
    const job = jobOf(wanted === undefined ? {} : { completions: wanted }, { succeeded });
    const ending = plan.completion(job, tallyPods(job, [], goingOn), active);
    assert.equal(ending !== undefined, done);
  });
}

const wants: readonly (readonly [string, Job, number, number])[] = [
  ["parallelism", jobOf({ parallelism: 3, completions: 10 }), 0, 3],
  ["no more than is left", jobOf({ parallelism: 3, completions: 10 }, { succeeded: 9 }), 0, 1],
  ["a work queue: parallelism", jobOf({ parallelism: 3 }), 1, 3],
  ["after a success: who is at work", jobOf({ parallelism: 3 }, { succeeded: 1 }), 2, 2],
  ["suspended: none", jobOf({ parallelism: 3, suspend: true }), 2, 0],
];
for (const [what, job, active, expected] of wants) {
  test(`wanted: ${what}`, () => {
    assert.equal(plan.countWantedActive(job, active, tallyPods(job, [], goingOn)), expected);
  });
}

test("pods on their way out are awaited only where they must have ended first", () => {
  const pods = [podOf("a", { going: true }), podOf("b")];
  const counts = { active: 1, wanted: 3 };
  assert.equal(plan.missingPods(jobOf(), pods, counts), 2);
  assert.equal(plan.missingPods(jobOf({ podReplacementPolicy: "Failed" }), pods, counts), 1);
});

test("the lowest indexes that are neither over nor at work come next", () => {
  const job = jobOf({ ...indexed, completions: 6 });
  const pods = [podOf("a", { index: 1 }), podOf("b", { index: 3, going: true })];
  const over = [parseIndexes("0", 6), parseIndexes("4", 6)];
  assert.deepEqual(plan.indexesToCreate(job, pods, over, 5), [2, 3, 5]);
  const patient = { ...job, spec: { ...job.spec, template: {}, podReplacementPolicy: "Failed" } };
  assert.deepEqual(plan.indexesToCreate(patient, pods, over, 5), [2, 5]);
});

test("doubled and invalid indexes go at any rate, then the least missed", () => {
  const job = jobOf(indexed);
  const bound = (name: string, index: number): Pod => {
    const made = podOf(name, { index });
    return { ...made, spec: { containers: [], nodeName: "n" } };
  };
  const pods = [
    bound("a", 1),
    podOf("b", { index: 1 }),
    podOf("c", { index: 7 }),
    podOf("d"),
    bound("e", 2),
  ];
  const gone = (count: number): readonly (string | undefined)[] =>
    plan
      .surplusPods(job, pods, count)
      .map((one) => one.metadata?.name)
      .toSorted();
  assert.deepEqual(gone(0), ["b", "c", "d"]);
  assert.equal(gone(4).length, 4);
});

interface ExitCodes {
  readonly operator: string;
  readonly values: readonly number[];
  readonly containerName?: string;
}

const verdicts: readonly (readonly [string, ExitCodes | undefined, Pod, string])[] = [
  ["no rule", undefined, podOf("a", { phase: "Failed", exitCode: 1 }), "Count"],
  [
    "an exit code in the list",
    { operator: "In", values: [1, 2] },
    podOf("a", { exitCode: 2 }),
    "Ignore",
  ],
  ["one not in it", { operator: "NotIn", values: [1] }, podOf("a", { exitCode: 2 }), "Ignore"],
  [
    "success never matches",
    { operator: "NotIn", values: [1] },
    podOf("a", { endedAgo: 5 }),
    "Count",
  ],
  [
    "another container",
    { operator: "In", values: [2], containerName: "x" },
    podOf("a", { exitCode: 2 }),
    "Count",
  ],
];
for (const [what, onExitCodes, failed, action] of verdicts) {
  test(`pod failure policy: ${what}: ${action}`, () => {
    const rules = onExitCodes === undefined ? [] : [{ action: "Ignore", onExitCodes }];
    const job = jobOf({ podFailurePolicy: { rules } });
    assert.equal(failureVerdict(job, failed).action, action);
  });
}

test("a matched condition is told with pod, rule and index", () => {
  const onPodConditions = [{ type: "DisruptionTarget", status: "True" }];
  const job = jobOf({ podFailurePolicy: { rules: [{ action: "FailJob", onPodConditions }] } });
  const failed = pod("a", { status: { conditions: onPodConditions } });
  assert.deepEqual(failureVerdict(job, failed), {
    action: "FailJob",
    message: "Pod default/a has condition DisruptionTarget matching FailJob rule at index 0",
  });
});

const ended = (name: string, endedAgo: number): Pod => podOf(name, { phase: "Failed", endedAgo });
const records: readonly (readonly [string, readonly Pod[], readonly Pod[], number])[] = [
  ["nothing new: as it was", [], [], 20 - 15],
  ["one more failure", [], [ended("a", 5)], 40 - 5],
  ["a success forgets", [ended("s", 1)], [], 0],
  ["but not failures after it", [ended("s", 30)], [ended("a", 4), ended("b", 60)], 10 - 4],
];
for (const [what, succeeded, failed, seconds] of records) {
  test(`backoff: ${what}: ${seconds} s left`, () => {
    const before = { failures: 2, lastFailureMs: nowMs - 15_000 };
    assert.equal(remainingMs(nextRecord(before, succeeded, failed), nowMs), seconds * 1000);
  });
}

test("backoff doubles from 10 s to 10 min and stays there", () => {
  const delays = [0, 1, 2, 3, 6, 7, 8, 1000].map(
    (failures) => remainingMs({ failures, lastFailureMs: nowMs }, nowMs) / 1000,
  );
  assert.deepEqual(delays, [0, 10, 20, 40, 320, 600, 600, 600]);
});

const perIndex = jobOf({ ...indexed, backoffLimitPerIndex: 1 });
const counted = (count: number) => ({
  "batch.kubernetes.io/job-index-failure-count": String(count),
});

test("an index has failed when its pod failed as often as allowed before, or a rule says so", () => {
  const pods = [
    podOf("a", { phase: "Failed", index: 0, annotations: counted(0) }),
    podOf("b", { phase: "Failed", index: 1, annotations: counted(1) }),
    podOf("c", { index: 2, annotations: counted(5) }),
  ];
  assert.equal(formatIndexes(findFailedIndexes(perIndex, pods)), "1");
  const rules = [{ action: "FailIndex", onExitCodes: { operator: "In", values: [9] } }];
  const job = jobOf(
    { ...indexed, backoffLimitPerIndex: 1, podFailurePolicy: { rules } },
    { failedIndexes: "3" },
  );
  const fatal = podOf("a", { phase: "Failed", index: 0, exitCode: 9 });
  assert.equal(formatIndexes(findFailedIndexes(job, [fatal])), "0,3");
});

test("the last failed pod of an index is held until it is replaced or the index is over", () => {
  const first = podOf("a", { phase: "Failed", index: 0, endedAgo: 60, annotations: counted(0) });
  const second = podOf("b", { phase: "Failed", index: 0, endedAgo: 10, annotations: counted(1) });
  const over = { completed: noIndexes, failed: noIndexes };
  assert.deepEqual([...heldPods(perIndex, [second, first], over).values()], [second]);
  const replaced = podOf("c", { index: 0 });
  assert.equal(heldPods(perIndex, [first, second, replaced], over).size, 0);
  assert.equal(heldPods(perIndex, [first], { ...over, failed: parseIndexes("0", 4) }).size, 0);
});

test("a replacement carries the count on, and waits by it", () => {
  const failed = podOf("a", { phase: "Failed", index: 0, endedAgo: 5, annotations: counted(1) });
  assert.deepEqual(countAnnotations(perIndex, undefined), counted(0));
  assert.deepEqual(countAnnotations(perIndex, failed), counted(2));
  const held = new Map([[0, failed]]);
  assert.deepEqual(dueIndexes([0, 1], held, nowMs), { due: [1], waitMs: undefined });
  assert.deepEqual(dueIndexes([0], held, nowMs), { due: [], waitMs: 15_000 });
});

test("a pod of an Indexed Job knows its index in every way, and its name keeps it", () => {
  const owner = { apiVersion: "batch/v1", kind: "Job", name: "j", uid: "u" };
  const template = { spec: { containers: [{ name: "main", image: "i" }] } };
  const job = { ...jobOf({ template }), metadata: { name: "x".repeat(63), namespace: "default" } };
  const made = makeJobPod(job, owner, { index: 12, annotations: {} });
  assert.equal(made.metadata?.generateName, `${"x".repeat(54)}-12-`);
  assert.equal(made.metadata?.labels?.[indexAnnotation], "12");
  assert.equal(made.metadata?.annotations?.[indexAnnotation], "12");
  assert.equal(made.spec?.hostname, `${"x".repeat(63)}-12`);
  assert.equal(made.spec?.containers[0]?.env?.[0]?.name, "JOB_COMPLETION_INDEX");
  assert.deepEqual(made.metadata?.finalizers, [trackingFinalizer]);
  assert.equal(makeJobPod(job, owner, undefined).metadata?.annotations, undefined);
});
