/** Which plan a reconcile of a DaemonSet follows, and when it looks again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DaemonSet, Node, Pod } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import { pod, readyStatus, selector, template } from "../testing/world.ts";
import type { DaemonInput } from "./plan.ts";
import { nextRoundMs, planRound } from "./round.ts";

const set: DaemonSet = { spec: { selector, template, updateStrategy: { type: "RollingUpdate" } } };
const node: Node = { metadata: { name: "n1" } };
const nowMs = Date.parse("2026-01-01T00:01:00Z");

function daemon(status: Pod["status"], hash = "new"): Pod {
  const spec = { nodeName: "n1", containers: [] };
  const metadata = { labels: { [revisionHashLabel]: hash } };
  return pod("d", { metadata, spec, ...given({ status }) });
}

function input(...pods: readonly Pod[]): DaemonInput {
  return { set, nodes: [node], pods, hash: "new", nowMs };
}

const ready = readyStatus("2026-01-01T00:00:00Z");
const isDue = (): number => 0;

test("an update replaces pods when there is nothing else to do", () => {
  const old = daemon(ready, "old");
  assert.deepEqual(planRound(input(old), isDue).remove, [old]);
});

test("a missing pod comes before the update", () => {
  const other: Node = { metadata: { name: "n2" } };
  const round = { ...input(daemon(ready, "old")), nodes: [node, other] };
  const plan = planRound(round, isDue);
  assert.deepEqual([plan.create, plan.remove], [["n2"], []]);
});

test("a failed pod waits for its backoff, and the plan says how long", () => {
  const failed = daemon({ phase: "Failed" });
  assert.deepEqual(planRound(input(failed), isDue).failed, [failed]);
  const waiting = planRound(input(failed), () => 4_000);
  assert.deepEqual([waiting.failed, waiting.waitMs], [[], 4_000]);
});

test("the next round is due at the sooner of availability and backoff, or never", () => {
  const round = {
    ...input(daemon(ready)),
    set: { spec: { selector, template, minReadySeconds: 70 } },
  };
  assert.equal(nextRoundMs(round, undefined, nowMs), 10_000);
  assert.equal(nextRoundMs(round, 4_000, nowMs), 4_000);
  assert.equal(nextRoundMs(input(daemon(ready)), undefined, nowMs), undefined);
});
