/** The gate's metrics: what waits, what has a seat, and that nothing is left over when all have gone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricSet } from "#metrics/metric-set.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { createGate, type FlowRequest, gateDefaults } from "./gate.ts";
import { FlowMetrics } from "./metrics.ts";

const request = (signal = new AbortController().signal): FlowRequest => ({
  info: {
    verb: "get",
    path: "/api/v1/namespaces/ns/pods/p",
    isResourceRequest: true,
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "ns",
    name: "p",
  },
  user: { name: "jane", groups: ["system:authenticated"] },
  query: new URLSearchParams(),
  signal,
});

const flow = 'priority_level="global-default",flow_schema="global-default"';

test("requests are counted while they wait, while they have a seat, and when they leave", async () => {
  const clock = new FakeClock();
  const set = new MetricSet();
  const metrics = new FlowMetrics(set);
  // Each level has one seat then.
  const gate = createGate({ clock, observer: metrics }, { ...gateDefaults, seats: 1 });
  metrics.describeLevels(set, () => gate.levels());
  const shown = (line: string): void => {
    const name = line.slice(0, line.lastIndexOf(" "));
    const lines = set.text().split("\n");
    assert.ok(lines.includes(line), lines.find((one) => one.startsWith(`${name} `)) ?? "absent");
  };
  const first = await gate.enter(request());
  const second = gate.enter(request());
  const leaving = new AbortController();
  const third = gate.enter(request(leaving.signal));
  await settle();
  shown('apiserver_flowcontrol_nominal_limit_seats{priority_level="global-default"} 1');
  shown(`apiserver_flowcontrol_current_executing_requests{${flow}} 1`);
  shown(`apiserver_flowcontrol_current_executing_seats{${flow}} 1`);
  shown(`apiserver_flowcontrol_current_inqueue_requests{${flow}} 2`);
  shown(`apiserver_flowcontrol_request_queue_length_after_enqueue_sum{${flow}} 3`);
  await clock.advance(2_000);
  leaving.abort();
  assert.equal((await third).kind, "rejected");
  assert.ok(first.kind === "seated");
  first.release();
  const seated = await second;
  assert.ok(seated.kind === "seated");
  shown(`apiserver_flowcontrol_current_inqueue_requests{${flow}} 0`);
  shown(`apiserver_flowcontrol_dispatched_requests_total{${flow}} 2`);
  shown(`apiserver_flowcontrol_request_wait_duration_seconds_sum{${flow},execute="true"} 2`);
  shown(`apiserver_flowcontrol_rejected_requests_total{${flow},reason="cancelled"} 1`);
  shown(`apiserver_flowcontrol_request_wait_duration_seconds_sum{${flow},execute="false"} 2`);
  seated.release();
  shown(`apiserver_flowcontrol_current_executing_requests{${flow}} 0`);
  shown(`apiserver_flowcontrol_current_executing_seats{${flow}} 0`);
  shown(`apiserver_flowcontrol_request_execution_seconds_count{${flow},type="regular"} 2`);
  gate.close();
});
