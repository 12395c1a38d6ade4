/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { conversion } from "./conversion.ts";

function calls(succeeded: boolean, count: number, seconds: number): string {
  const name = "apiserver_crd_conversion_webhook_duration_seconds";
  const labels = `{crd_name="shops.example.com",from_version="v1",to_version="v2",succeeded="${succeeded}"}`;
  return `${name}_count${labels} ${count}\n${name}_sum${labels} ${seconds}\n`;
}

test("conversions that fail page and name the definition", () => {
  const [verdict] = conversion.judge(sampled(calls(false, 1, 0), calls(false, 3, 0)));
  assert.equal(verdict?.culprit, "conversion webhook of shops.example.com");
  assert.equal(verdict.severity, "page");
});

test("conversions that take long warn", () => {
  assert.equal(conversion.judge(sampled("", calls(true, 4, 4)))[0]?.severity, "warn");
});

test("quick conversions, and failures before the look, are well", () => {
  const before = calls(false, 3, 9) + calls(true, 1, 0);
  assert.deepEqual(conversion.judge(sampled(before, calls(false, 3, 9) + calls(true, 101, 5))), []);
});
