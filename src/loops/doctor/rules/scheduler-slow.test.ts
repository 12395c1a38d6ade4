/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, observed, sampled } from "../testing/evidence.ts";
import { schedulerSlow } from "./scheduler-slow.ts";

const attempts = (seconds: number, count: number): string =>
  observed("scheduler_scheduling_attempt_duration_seconds", seconds, count, 'result="scheduled"');
const plugin = (name: string, seconds: number): string =>
  `scheduler_plugin_execution_duration_seconds_sum{plugin="${name}",extension_point="Filter"} ${seconds}\n`;

test("slow attempts name the plugin that takes the most time", () => {
  const after = attempts(0.3, 50) + plugin("NodeName", 1) + plugin("InterPodAffinity", 9);
  const scheduler = sampled("", after);
  const [verdict] = schedulerSlow.judge(evidenceOf({ programs: { scheduler } }));
  assert.equal(verdict?.culprit, "scheduler plugin InterPodAffinity");
});

const point = (name: string, seconds: number): string =>
  `scheduler_framework_extension_point_duration_seconds_sum{extension_point="${name}"} ${seconds}
scheduler_framework_extension_point_duration_seconds_count{extension_point="${name}"} 50\n`;

test("attempts whose time is no plugin's are an extender's", () => {
  const culpritOf = (...points: string[]): string | undefined => {
    const after = attempts(0.3, 50) + plugin("InterPodAffinity", 0.01) + points.join("");
    return schedulerSlow.judge(sampled("", after))[0]?.culprit;
  };
  assert.match(culpritOf(point("Filter", 1), point("Bind", 14)) ?? "", /^an extender/);
  assert.match(culpritOf(point("Filter", 14)) ?? "", /InterPodAffinity/);
});

test("quick attempts, and a few slow ones, are well", () => {
  assert.deepEqual(schedulerSlow.judge(sampled("", attempts(0.05, 500))), []);
  assert.deepEqual(schedulerSlow.judge(sampled("", attempts(0.3, 5))), []);
});
