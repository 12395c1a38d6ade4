/** The scheduler's metrics: attempts, times, the parts of the queue, preemption. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "./testing.ts";

const profile = 'profile="default-scheduler"';

test("each attempt is counted once with its time, whatever came of it", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    api.put(podsRef, makePod("fits", { cpu: "800m" }));
    api.put(podsRef, makePod("waits", { cpu: "800m" }));
  });
  assert.deepEqual(rig.samples("scheduler_schedule_attempts_total{"), [
    `scheduler_schedule_attempts_total{${profile},result="error"} 0`,
    `scheduler_schedule_attempts_total{${profile},result="scheduled"} 1`,
    `scheduler_schedule_attempts_total{${profile},result="unschedulable"} 1`,
  ]);
  const name = "scheduler_scheduling_attempt_duration_seconds_count";
  assert.deepEqual(rig.samples(name), [
    `${name}{${profile},result="error"} 0`,
    `${name}{${profile},result="scheduled"} 1`,
    `${name}{${profile},result="unschedulable"} 1`,
  ]);
  assert.deepEqual(rig.samples("scheduler_scheduling_algorithm_duration_seconds_count"), [
    "scheduler_scheduling_algorithm_duration_seconds_count 2",
  ]);
  const points = rig
    .samples("scheduler_framework_extension_point_duration_seconds_count")
    .map((line) =>
      /extension_point="(\w+)".*status="(\w+)"\} (\d+)/.exec(line)?.slice(1).join(" "),
    );
  assert.deepEqual(points, [
    "Bind Success 1",
    "Filter Success 1",
    "Filter Unschedulable 1",
    "PostFilter Unschedulable 1",
    "PreFilter Success 2",
    "Reserve Success 1",
    "Score Success 1",
  ]);
  await rig.end();
});

test("a pod that took three attempts counts its attempts, and its time since it was first active", async () => {
  const rig = await startRig((api) => api.put(podsRef, makePod("late", { cpu: "1" })));
  await rig.clock.advance(10_000);
  rig.api.put(nodesRef, makeNode("small", { cpu: "500m" }));
  await rig.clock.advance(20_000);
  rig.api.put(nodesRef, makeNode("large", { cpu: "4" }));
  await rig.clock.advance(30_000);
  assert.equal(rig.nodeOf("late"), "large");
  const sli = rig.samples("scheduler_pod_scheduling_sli_duration_seconds_sum");
  assert.equal(sli.length, 1);
  const [, attempts = "", seconds = ""] = /attempts="(\d+)"\} ([\d.]+)/.exec(sli[0] ?? "") ?? [];
  assert.ok(Number(attempts) >= 2, attempts);
  assert.ok(Number(seconds) >= 30 && Number(seconds) < 45, seconds);
  assert.deepEqual(rig.samples("scheduler_pod_scheduling_attempts_sum"), [
    `scheduler_pod_scheduling_attempts_sum ${attempts}`,
  ]);
  await rig.end();
});

test("pods that wait are told by part of the queue and by the plugins that refused them", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1", { cpu: "1" }));
    for (const name of ["a", "b"]) api.put(podsRef, makePod(name, { cpu: "8" }));
    const gated = makePod("gated");
    api.put(podsRef, { ...gated, spec: { ...gated.spec, schedulingGates: [{ name: "x" }] } });
  });
  assert.deepEqual(rig.samples("scheduler_pending_pods{"), [
    'scheduler_pending_pods{queue="active"} 0',
    'scheduler_pending_pods{queue="backoff"} 0',
    'scheduler_pending_pods{queue="gated"} 1',
    'scheduler_pending_pods{queue="unschedulable"} 2',
  ]);
  assert.deepEqual(rig.samples("scheduler_unschedulable_pods{"), [
    `scheduler_unschedulable_pods{plugin="NodeResourcesFit",${profile}} 2`,
  ]);
  assert.deepEqual(rig.samples("scheduler_queue_incoming_pods_total{"), [
    'scheduler_queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"} 2',
    'scheduler_queue_incoming_pods_total{queue="gated",event="UnschedulablePodAdd"} 1',
    'scheduler_queue_incoming_pods_total{queue="unschedulable",event="ScheduleAttemptFailure"} 2',
  ]);
  await rig.end();
  assert.deepEqual(rig.samples("scheduler_pending_pods{"), [], "no term, no queue");
});
