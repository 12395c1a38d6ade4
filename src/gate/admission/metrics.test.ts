/** Times of admission: each plugin its own, the pass the sum, a refusal where it happened. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricSet } from "#metrics/metric-set.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { createAdmission } from "./chain.ts";
import { AdmissionMetrics } from "./metrics.ts";
import { fakeRequest, pod } from "./testing.ts";

test("a plugin's time is its own, and the one that refuses is told", async () => {
  const clock = new FakeClock();
  const set = new MetricSet();
  const slow = (name: string, ms: number): AdmissionPlugin => ({
    name,
    mutate: async ({ object }) => {
      await clock.advance(ms);
      return object ?? pod();
    },
  });
  const refusing: AdmissionPlugin = {
    name: "Refusing",
    validate: () => {
      throw new Error("no");
    },
  };
  const plugins = [slow("Slow", 2_000), slow("Slower", 3_000), refusing];
  const admission = createAdmission(plugins, new AdmissionMetrics(clock, set));
  await admission.mutate(fakeRequest(pod()));
  await assert.rejects(async () => admission.validate(fakeRequest(pod())));
  const lines = set.text().split("\n");
  const shown = lines.filter((line) => line.includes("_sum") || line.includes("_count"));
  const plugin = "apiserver_admission_controller_admission_duration_seconds";
  const step = "apiserver_admission_step_admission_duration_seconds";
  for (const line of [
    `${plugin}_sum{name="Slow",type="admit",operation="CREATE",rejected="false"} 2`,
    `${plugin}_sum{name="Slower",type="admit",operation="CREATE",rejected="false"} 3`,
    `${plugin}_count{name="Refusing",type="validate",operation="CREATE",rejected="true"} 1`,
    `${step}_sum{type="admit",operation="CREATE",rejected="false"} 5`,
    `${step}_count{type="validate",operation="CREATE",rejected="true"} 1`,
  ])
    assert.ok(shown.includes(line), `${line}\n${shown.join("\n")}`);
});
