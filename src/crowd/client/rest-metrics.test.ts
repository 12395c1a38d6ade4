/** Requests to an API server and work queues as metrics. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricSet } from "#metrics/metric-set.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { QueueMetrics } from "./queue-metrics.ts";
import { countedTransport, RestMetrics } from "./rest-metrics.ts";
import { WorkQueue } from "./workqueue.ts";

test("an answer is counted by its code and time, a failure as an error", async () => {
  const clock = new FakeClock();
  const set = new MetricSet();
  const failures: Error[] = [];
  const http: ByteTransport = {
    send: async () => {
      await clock.advance(300);
      for (const failure of failures) throw failure;
      return {
        status: 200,
        headers: {},
        read: async () => new Uint8Array(),
        stream: async () => {},
      };
    },
    close: () => {},
  };
  const metrics = new RestMetrics(set);
  const counted = countedTransport(http, { clock, metrics, host: "10.0.0.1:6443" });
  const { signal } = new AbortController();
  const get = { method: "GET", target: "/api", headers: {}, signal };
  await counted.send(get);
  const failure = new Error("gone");
  failures.push(failure);
  await assert.rejects(counted.send(get), failure);
  const lines = set.text().split("\n");
  for (const line of [
    'rest_client_requests_total{code="200",method="GET",host="10.0.0.1:6443"} 1',
    'rest_client_requests_total{code="<error>",method="GET",host="10.0.0.1:6443"} 1',
    'rest_client_request_duration_seconds_count{verb="GET",host="10.0.0.1:6443"} 2',
    'rest_client_request_duration_seconds_bucket{verb="GET",host="10.0.0.1:6443",le="0.25"} 0',
    'rest_client_request_duration_seconds_bucket{verb="GET",host="10.0.0.1:6443",le="0.5"} 2',
  ])
    assert.ok(lines.includes(line), line);
});

test("a queue goes on counting where the one of an earlier term ended", async () => {
  const clock = new FakeClock();
  const set = new MetricSet();
  const metrics = new QueueMetrics(set);
  for (let term = 0; term < 2; term++) {
    const observer = metrics.observer("job-controller");
    const queue = new WorkQueue({ clock, log: silentLog, observer }, { name: "job-controller" });
    metrics.show(() => [["job-controller", queue.metrics()]]);
    queue.add("a");
    await clock.advance(2_000);
    const key = await queue.take();
    await clock.advance(3_000);
    assert.ok(
      set.text().includes('workqueue_unfinished_work_seconds{name="job-controller"} 3\n'),
      "under work",
    );
    queue.done(key ?? "");
    queue.close();
  }
  metrics.show(() => []);
  const lines = set.text().split("\n");
  for (const line of [
    'workqueue_adds_total{name="job-controller"} 2',
    'workqueue_queue_duration_seconds_sum{name="job-controller"} 4',
    'workqueue_work_duration_seconds_sum{name="job-controller"} 6',
  ])
    assert.ok(lines.includes(line), line);
  assert.ok(!lines.some((line) => line.startsWith("workqueue_depth{")), "no term, no queue");
});
