/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, sampled } from "../testing/evidence.ts";
import { schedulerQueue } from "./scheduler-queue.ts";

const state = (active: number, scheduled: number, unschedulable: number): string =>
  `scheduler_pending_pods{queue="active"} ${active}
scheduler_schedule_attempts_total{result="scheduled",profile="p"} ${scheduled}
scheduler_schedule_attempts_total{result="unschedulable",profile="p"} ${unschedulable}
scheduler_unschedulable_pods{plugin="TaintToleration",profile="p"} 3
scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="p"} 70\n`;

test("a queue that grows is found, in the scheduler's own metrics or the server's", () => {
  const samples = sampled(state(600, 0, 0), state(900, 50, 0));
  const found = [
    schedulerQueue.judge(samples),
    schedulerQueue.judge(evidenceOf({ programs: { scheduler: samples } })),
  ];
  for (const [verdict] of found) assert.equal(verdict?.figures["boundPerSecond"], 50);
});

test("vain attempts name the plugin that turns most pods away", () => {
  const [verdict] = schedulerQueue.judge(sampled(state(0, 0, 0), state(5, 2, 200)));
  assert.equal(verdict?.culprit, "scheduler plugin NodeResourcesFit");
});

test("a queue that shrinks, a short one, and a roll-out with some vain attempts are well", () => {
  assert.deepEqual(schedulerQueue.judge(sampled(state(900, 0, 0), state(600, 300, 0))), []);
  assert.deepEqual(schedulerQueue.judge(sampled(state(1, 0, 0), state(90, 9, 9))), []);
  assert.deepEqual(schedulerQueue.judge(sampled(state(1, 0, 0), state(9, 90, 100))), []);
});
