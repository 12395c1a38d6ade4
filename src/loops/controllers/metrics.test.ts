/** What controllers count of jobs and nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "#api/gen/types.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { ControllerMetrics } from "./metrics.ts";

function linesOf(set: MetricSet, name: string): readonly string[] {
  return set
    .text()
    .split("\n")
    .filter((line) => line.startsWith(name));
}

test("pods of a job that finished are counted by what the status gains, and never taken back", () => {
  const set = new MetricSet();
  const metrics = new ControllerMetrics(set);
  const job = (succeeded: number, failed: number): Job => ({
    apiVersion: "batch/v1",
    kind: "Job",
    spec: { completionMode: "Indexed", template: {} },
    status: { succeeded, failed },
  });
  metrics.jobStatusWritten(job(0, 0), { succeeded: 3, failed: 1 });
  metrics.jobStatusWritten(job(3, 1), { succeeded: 2, failed: 2 });
  metrics.jobStatusWritten(job(2, 2), { succeeded: 2, failed: 2 });
  assert.deepEqual(linesOf(set, "job_controller_job_pods_finished_total"), [
    'job_controller_job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 3',
    'job_controller_job_pods_finished_total{completion_mode="Indexed",result="failed"} 2',
  ]);
});

test("a node that is given up is counted by its zone", () => {
  const set = new MetricSet();
  const metrics = new ControllerMetrics(set);
  metrics.nodeGivenUp("");
  metrics.nodeGivenUp("eu:\0:a");
  assert.equal(linesOf(set, "node_collector_evictions_total").length, 2);
});
