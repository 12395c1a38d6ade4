/** One page of metrics for several processes: names together, samples labelled. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mergeMetrics } from "./merge-pages.ts";
import { MetricSet } from "./metric-set.ts";

void describe("metrics of several processes", () => {
  void it("stand together by name, each sample labelled with its process", () => {
    const pages = ["owner", "worker-1"].map((name, at) => {
      const set = new MetricSet();
      set.counter("requests_total", "Requests.", ["code"]).add(["200"], at + 1);
      set.gauge("streams", "Streams open.", []).set([], 10 * at);
      return [name, set.text()] as const;
    });
    assert.deepEqual(mergeMetrics("process", [...pages, ["worker-2", ""]]).split("\n"), [
      "# HELP requests_total Requests.",
      "# TYPE requests_total counter",
      'requests_total{process="owner",code="200"} 1',
      'requests_total{process="worker-1",code="200"} 2',
      "# HELP streams Streams open.",
      "# TYPE streams gauge",
      'streams{process="owner"} 0',
      'streams{process="worker-1"} 10',
      "",
    ]);
  });

  void it("keeps label values with spaces and braces whole", () => {
    const set = new MetricSet();
    set.counter("odd_total", "Odd.", ["what"]).add(["a {b} c"]);
    assert.match(
      mergeMetrics("process", [["owner", set.text()]]),
      /^odd_total\{process="owner",what="a \{b\} c"\} 1$/m,
    );
  });
});
