/** What a Prometheus answers becomes samples, and the query asks for metrics only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./report.ts";
import { rules } from "./rules.ts";
import { evidenceOf, observed } from "./testing/evidence.ts";
import { parseMetrics } from "./metrics-text.ts";
import { parseVector, pastOf, queryPath } from "./prometheus.ts";

test("the query asks for the metrics of the rules at a time, and for none of one process", () => {
  const path = queryPath(["leases", "audit log", "process_open_fds", "etcd_a_sum", "b_c"], 1_500);
  assert.equal(
    path,
    `/api/v1/query?query=${encodeURIComponent('{__name__=~"etcd_a_sum|b_c"}')}&time=1.5`,
  );
});

test("a vector becomes series; what is no number or has no name is dropped and counted", () => {
  const result = [
    { metric: { __name__: "a_b", verb: "GET" }, value: [1, "7"] },
    { metric: { __name__: "a_b" }, value: [1, "x"] },
    { metric: {}, value: [1, "7"] },
    7,
  ];
  const metrics = parseVector({ status: "success", data: { resultType: "vector", result } });
  assert.deepEqual(metrics?.series, [
    { name: "a_b", labels: new Map([["verb", "GET"]]), value: 7 },
  ]);
  assert.equal(metrics.dropped, 3);
});

test("an answer that is no vector is none", () => {
  const bad = [null, 7, "x", { status: "error" }, { status: "success", data: { result: [] } }];
  assert.deepEqual(
    bad.map(parseVector),
    bad.map(() => undefined),
  );
});

test("a hundred thousand series are kept, and the rest is counted", () => {
  const one = { metric: { __name__: "a_b" }, value: [1, "7"] };
  const result = Array.from({ length: 100_010 }, () => one);
  const metrics = parseVector({ status: "success", data: { resultType: "vector", result } });
  assert.deepEqual([metrics?.series.length, metrics?.dropped], [100_000, 10]);
});

test("what was found in the past is told as such, of the program whose job it is, and once", () => {
  const parse = (text: string) => parseMetrics(`up 1\n${text}`, () => true);
  const waits = (count: number): string =>
    observed(
      "rest_client_rate_limiter_duration_seconds",
      0.4,
      count,
      'job="kube-controller-manager"',
    );
  const storm = 'apiserver_request_total{verb="LIST",group="",resource="pods"} 900000';
  const past = pastOf(parse(waits(0)), parse(`${waits(20)}${storm}`), 3_600);
  const told = judge(evidenceOf({ past }), rules).findings.map(({ sentence }) => sentence);
  assert.deepEqual(told, [
    "in the last 3600 s: each request of the controller-manager waits 0.40 s for its own limit",
    "in the last 3600 s: pods is listed 250 times a second",
  ]);
  const both = judge(evidenceOf({ ...past, past }), rules).findings;
  assert.equal(both.length, 2);
  assert.ok(both.every(({ sentence }) => !sentence.startsWith("in the last")));
});
