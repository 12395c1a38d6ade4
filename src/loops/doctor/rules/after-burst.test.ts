/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nowMs, sampled } from "../testing/evidence.ts";
import { afterBurst } from "./after-burst.ts";

const name = "apiserver_request_sli_duration_seconds";
const upSeconds = 10_000;

function total(calls: number, seconds: number, up = upSeconds): string {
  const labels = `{verb="GET",resource="pods"}`;
  return `process_start_time_seconds ${nowMs / 1_000 - up}\n${name}_count${labels} ${calls}\n${name}_sum${labels} ${seconds}\n`;
}

const store = (seconds: number): string =>
  `etcd_request_duration_seconds_count 10\netcd_request_duration_seconds_sum ${seconds}\n`;
/** A hundred a second, of 10 ms each. */
const past = total(1_000_000, 10_000);

test("slow answers at an ordinary load are a burst's that is over", () => {
  const [verdict] = afterBurst.judge(sampled(past, total(1_000_050, 10_010)));
  assert.match(verdict?.sentence ?? "", /20 times as long/);
});

test("a burst that still is, quick answers, a slow store, and a server that began lately are well", () => {
  const now = total(1_000_050, 10_010);
  assert.deepEqual(afterBurst.judge(sampled(past, total(1_000_500, 10_100))), []);
  assert.deepEqual(afterBurst.judge(sampled(past, total(1_000_050, 10_001))), []);
  assert.deepEqual(afterBurst.judge(sampled(past, now + store(5))), []);
  assert.deepEqual(
    afterBurst.judge(sampled(total(1_000_000, 10_000, 60), total(1_000_050, 10_010, 60))),
    [],
  );
});
