/** The pods a round of a Job creates and deletes, and what it concludes when that is done. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, Pod } from "#api/gen/types.ts";
import { pod, template } from "../testing/world.ts";
import type { BackoffRecord } from "./backoff.ts";
import { concludeRound, findEnding, gatherRound, planPods, type Outcome } from "./round.ts";
import { trackingFinalizer } from "./tracked.ts";

const nowMs = Date.parse("2026-01-01T00:01:00Z");
const startTime = "2026-01-01T00:00:00Z";

function roundOf(spec: Partial<Job["spec"]>, pods: readonly Pod[], record?: BackoffRecord) {
  const job: Job = {
    metadata: { name: "j" },
    spec: { parallelism: 2, completions: 4, backoffLimit: 1, template, ...spec },
    status: { startTime },
  };
  return gatherRound({ key: "default/j", job, pods, nowMs }, record);
}

function tracked(name: string, phase: string): Pod {
  return pod(name, { metadata: { finalizers: [trackingFinalizer] }, status: { phase } });
}

function sizes({ end, drop, create }: ReturnType<typeof planPods>): readonly number[] {
  return [end.length, drop.length, create.length];
}

const nothingDone: Outcome = { createdCount: 0, deleted: new Set(), error: undefined };
const running = ["a", "b", "c"].map((name) => tracked(name, "Running"));

test("a round either creates missing pods or drops surplus ones", () => {
  assert.deepEqual(sizes(planPods(roundOf({}, []), undefined)), [0, 0, 2]);
  assert.deepEqual(sizes(planPods(roundOf({}, running), undefined)), [0, 1, 0]);
});

test("backoff delays the creates, not the deletes", () => {
  const record = { failures: 1, lastFailureMs: nowMs - 4_000 };
  const waiting = planPods(roundOf({}, [], record), undefined);
  assert.deepEqual([sizes(waiting), waiting.waitMs], [[0, 0, 0], 6_000]);
  assert.deepEqual(sizes(planPods(roundOf({}, running, record), undefined)), [0, 1, 0]);
});

test("a Job that has failed ends all active pods, also when it is suspended", () => {
  const failed = ["x", "y"].map((name) => tracked(name, "Failed"));
  const round = roundOf({ suspend: true }, [...running, ...failed]);
  const ending = findEnding(round);
  assert.equal(ending?.reason, "BackoffLimitExceeded");
  assert.deepEqual(sizes(planPods(round, ending)), [3, 0, 0]);
});

test("an ending is reported only when all its pods could be deleted", () => {
  const round = roundOf({ activeDeadlineSeconds: 30 }, running);
  const ending = findEnding(round);
  const conclude = (outcome: Outcome) =>
    concludeRound(round, { ending, waitMs: undefined }, outcome).status.conditions ?? [];
  const deleted = new Set(running);
  const reasons = conclude({ ...nothingDone, deleted }).map(({ reason }) => reason);
  assert.deepEqual(reasons, ["DeadlineExceeded"]);
  assert.deepEqual(conclude({ ...nothingDone, error: new Error("refused") }), []);
});

test("a round is repeated at the deadline or the end of the backoff, whichever is sooner", () => {
  const round = roundOf({ activeDeadlineSeconds: 90 }, []);
  const requeue = (waitMs: number | undefined) =>
    concludeRound(round, { ending: undefined, waitMs }, nothingDone).requeueAfterMs;
  assert.deepEqual([requeue(undefined), requeue(6_000), requeue(60_000)], [30_000, 6_000, 30_000]);
});
