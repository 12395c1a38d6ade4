/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { storeLatency } from "./store-latency.ts";

const took = (seconds: number, calls: number): string =>
  `etcd_request_duration_seconds_sum{operation="update",type="/registry/leases/"} ${seconds}
etcd_request_duration_seconds_count{operation="update",type="/registry/leases/"} ${calls}\n`;

test("slow updates are named with what they update, very slow ones page", () => {
  const [slow] = storeLatency.judge(sampled(took(1, 10), took(5, 30)));
  assert.equal(slow?.severity, "warn");
  assert.match(slow.sentence, /0\.20 s for each update of/);
  assert.match(slow.culprit, /leases/);
  assert.equal(storeLatency.judge(sampled(took(0, 0), took(20, 20)))[0]?.severity, "page");
});

test("a store of 1.34 and later names the kind by group and resource, and the question for the newest revision by none", () => {
  const lines = (labels: string, seconds: number, calls: number): string =>
    `etcd_request_duration_seconds_sum{${labels}} ${seconds}
etcd_request_duration_seconds_count{${labels}} ${calls}\n`;
  const culpritOf = (labels: string): string | undefined =>
    storeLatency.judge(sampled(lines(labels, 0, 0), lines(labels, 6, 20)))[0]?.culprit;
  const create = 'operation="create",group="apps",resource="deployments"';
  assert.match(culpritOf(create) ?? "", /with create of deployments\.apps$/);
  const get = 'operation="get",group="",resource=""';
  assert.match(culpritOf(get) ?? "", /with get of the newest revision$/);
});

test("a quick store, one slow call alone, and slowness of before are well", () => {
  assert.deepEqual(storeLatency.judge(sampled(took(1, 10), took(1.2, 60))), []);
  assert.deepEqual(storeLatency.judge(sampled(took(0, 0), took(3, 1))), []);
  assert.deepEqual(storeLatency.judge(sampled(took(90, 100), took(90.1, 160))), []);
});
