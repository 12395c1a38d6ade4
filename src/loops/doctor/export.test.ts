/** Alerts and panels: made of every rule that reads metrics, with its thresholds, and with whole queries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alertRules, dashboard } from "./export.ts";
import { rules } from "./rules.ts";

/** What they read is no metric, or nothing without objects. */
const withoutAlerts = [
  "aggregated-api-away",
  "fan-out",
  "greedy-caller",
  "leader-stuck",
  "pod-herd",
  "relay",
  "silent-nodes",
  "stuck-namespace",
];

test("every rule of metrics has alerts, and these ask for metrics that the rule reads", () => {
  const without = rules.filter(({ alerts = [] }) => alerts.length === 0).map(({ id }) => id);
  assert.deepEqual(without.toSorted(), withoutAlerts);
  for (const { id, alerts = [], reads } of rules) {
    for (const { query, above } of alerts) {
      const unquoted = query.replaceAll(/"[^"]*"/g, '""');
      const names = unquoted.match(/[a-z]+(?:_[a-z]+){2,}/g) ?? [];
      for (const name of names) {
        const isRead = reads.some((read) => read === name || `${read}_count` === name);
        assert.ok(isRead || otherNames.has(name), `${id} asks for ${name}`);
      }
      assert.ok(Number.isFinite(above));
    }
  }
});

/** Labels and functions of three words. */
const otherNames = new Set(["calling_webhook_error", "storage_cluster_id"]);

test("a query's brackets and quotes are closed, and no name is left unfilled", () => {
  for (const { query } of rules.flatMap(({ alerts = [] }) => alerts)) {
    for (const [open, close] of ["()", "[]", "{}"]) {
      assert.equal(query.split(open ?? "").length, query.split(close ?? "").length, query);
    }
    assert.equal(query.split('"').length % 2, 1, query);
    assert.doesNotMatch(query, /\$|undefined|NaN/);
  }
});

test("each alert is a rule of Prometheus, and each query one panel of the dashboard", () => {
  const alerts = rules.flatMap(({ alerts: own = [] }) => own);
  const { groups } = alertRules(rules) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const made = groups.flatMap((group) => group.rules);
  assert.deepEqual(
    made.map(({ expr }) => expr),
    alerts.map(({ query, above }) => `(${query}) > ${above}`),
  );
  assert.ok(made.every(({ alert }) => /^Pilothouse[A-Za-z]+$/.test(alert)));
  const { panels } = dashboard(rules) as { panels: { targets: { expr: string }[] }[] };
  assert.deepEqual(
    panels.map(({ targets }) => targets[0]?.expr),
    [...new Set(alerts.map(({ query }) => query))],
  );
});
