/** Findings as metrics: those of the last report, bounded, and safe in the text format. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricSet } from "#metrics/metric-set.ts";
import { FindingsMetrics } from "./findings-metrics.ts";
import { nowMs } from "./testing/evidence.ts";

const finding = {
  rule: "x",
  sentence: "s",
  severity: "warn",
  figures: { pods: 7, reason: "text" },
  remedy: "r",
  certainty: 1,
} as const;

test("findings of the last look are series, and are gone with it", () => {
  const set = new MetricSet();
  const metrics = new FindingsMetrics(set);
  const findings = ["a", 'b"\n\\evil 1'].map((culprit) => ({ ...finding, culprit }));
  metrics.took({ findings, gaps: [] }, nowMs);
  const text = set.text();
  assert.match(text, /pilothouse_doctor_findings\{rule="x",severity="warn"\} 2\n/);
  assert.match(text, /pilothouse_doctor_figure\{rule="x",culprit="a",figure="pods"\} 7\n/);
  assert.equal(text.match(/^pilothouse_doctor_figure\{/gm)?.length, 2, "texts are no figures");
  assert.doesNotMatch(text, /^\\?evil/m);
  assert.match(text, /pilothouse_doctor_looks_total 1\n/);
  metrics.took({ findings: [], gaps: [] }, nowMs);
  metrics.failed();
  assert.doesNotMatch(set.text(), /rule="x"/);
  assert.match(set.text(), /pilothouse_doctor_failed_looks_total 1\n/);
});
