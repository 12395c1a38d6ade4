/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { webhooks } from "./webhooks.ts";

const refused = (type: string, count: number): string =>
  `apiserver_admission_webhook_rejection_count{name="a.b.c",type="admit",error_type="${type}"} ${count}\n`;

const took = (seconds: number, calls: number): string =>
  `apiserver_admission_webhook_admission_duration_seconds_sum{name="a.b.c"} ${seconds}
apiserver_admission_webhook_admission_duration_seconds_count{name="a.b.c"} ${calls}\n`;

test("a webhook that does not answer is named, with the writes it stopped", () => {
  const dead = sampled("", refused("calling_webhook_error", 4));
  const [verdict] = webhooks.judge(dead);
  assert.equal(verdict?.culprit, "webhook a.b.c");
  assert.equal(verdict.severity, "page");
  assert.equal(verdict.figures["refused"], 4);
});

test("a webhook that takes a second for each write is named", () => {
  const [verdict] = webhooks.judge(sampled(took(1, 10), took(11, 20)));
  assert.equal(verdict?.sentence, "webhook a.b.c takes 1.00 s for each write");
});

test("a webhook that says no, one that was dead before, and a quick one are well", () => {
  const old = refused("calling_webhook_error", 4);
  const said = refused("no_error", 9);
  assert.deepEqual(webhooks.judge(sampled(old + took(0, 0), old + said + took(1, 20))), []);
});
