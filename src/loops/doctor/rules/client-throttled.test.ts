/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, observed, sampled } from "../testing/evidence.ts";
import { clientThrottled } from "./client-throttled.ts";

const waits = (seconds: number, count: number): string =>
  observed("rest_client_rate_limiter_duration_seconds", seconds, count, 'verb="POST",host="h"');

test("a program that waits for its own limit is named", () => {
  const programs = { "controller-manager": sampled("", waits(0.4, 20)) };
  assert.equal(clientThrottled.judge(evidenceOf({ programs }))[0]?.culprit, "controller-manager");
});

test("short waits, few requests, and waits before the look are well", () => {
  assert.deepEqual(clientThrottled.judge(sampled("", waits(0.01, 500))), []);
  assert.deepEqual(clientThrottled.judge(sampled("", waits(2, 3))), []);
  assert.deepEqual(clientThrottled.judge(sampled(waits(2, 30), waits(2, 30))), []);
});
