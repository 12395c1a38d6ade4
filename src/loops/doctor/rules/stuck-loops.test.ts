/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, sampled } from "../testing/evidence.ts";
import { stuckLoops } from "./stuck-loops.ts";

const series = (name: string, value: number): string =>
  `workqueue_${name}{name="deployment"} ${value}\n`;
const running = (seconds: number): string => series("longest_running_processor_seconds", seconds);
const done = (count: number): string => series("work_duration_seconds_count", count);
const counted = (adds: number, retries: number): string =>
  series("adds_total", adds) + series("retries_total", retries);

test("a loop that completes nothing pages, with its program", () => {
  const samples = sampled(done(9), running(400) + done(9));
  const programs = { "controller-manager": samples };
  const [verdict] = stuckLoops.judge(evidenceOf({ programs }));
  assert.equal(verdict?.culprit, "loop deployment of the controller-manager");
  assert.equal(verdict.severity, "page");
  const ours = sampled("", series("longest_waiting_seconds", 400));
  assert.equal(stuckLoops.judge(ours)[0]?.severity, "page");
});

test("a loop that retries much of what it does is named", () => {
  const [verdict] = stuckLoops.judge(sampled(counted(0, 0), counted(100, 60)));
  assert.equal(verdict?.figures["retries"], 60);
});

test("a loop that looks at each key again by design is well", () => {
  const autoscaler = (count: number): string =>
    ["adds_total", "retries_total"]
      .map((name) => `workqueue_${name}{name="horizontalpodautoscaler"} ${count}\n`)
      .join("");
  assert.deepEqual(stuckLoops.judge(sampled(autoscaler(0), autoscaler(500))), []);
});

test("a loop with one slow key that does other work, and a few retries, are well", () => {
  assert.deepEqual(stuckLoops.judge(sampled(done(9), running(400) + done(30))), []);
  assert.deepEqual(stuckLoops.judge(sampled("", running(100))), []);
  assert.deepEqual(stuckLoops.judge(sampled(counted(0, 0), counted(1_000, 50))), []);
  assert.deepEqual(stuckLoops.judge(sampled(counted(0, 0), counted(10, 9))), []);
});
