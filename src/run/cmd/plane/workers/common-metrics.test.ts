/** Which metrics of serving threads are added up, and which say the same in each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sumPages } from "#metrics/sum-pages.ts";
import { isCommonMetric } from "./common-metrics.ts";

function pageOf(name: string, type: string, value: number): string {
  return `# HELP ${name} Text.\n# TYPE ${name} ${type}\n${name}{a="b"} ${value}\n`;
}

function summed(name: string, type: string, ...values: readonly number[]): string {
  const pages = values.map((value) => pageOf(name, type, value));
  return sumPages(pages, isCommonMetric).trimEnd().split(" ").at(-1) ?? "";
}

test("the reload of a configuration counts once, because every thread reads the same file", () => {
  const prefix = "apiserver_authorization_config_controller";
  assert.equal(summed(`${prefix}_automatic_reloads_total`, "counter", 2, 2), "2");
  const last = `${prefix}_automatic_reload_last_timestamp_seconds`;
  assert.equal(summed(last, "gauge", 1_700, 1_700), "1700");
});

test("what threads decide for their own requests is added up", () => {
  assert.equal(summed("pod_security_evaluations_total", "counter", 2, 3), "5");
  assert.equal(summed("apiserver_watch_list_duration_seconds_count", "histogram", 2, 3), "5");
});
