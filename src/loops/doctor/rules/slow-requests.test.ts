/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { slowRequests } from "./slow-requests.ts";

const took = (verb: string, seconds: number, calls: number): string => {
  const labels = `{verb="${verb}",group="",resource="pods",subresource=""}`;
  return `apiserver_request_duration_seconds_sum${labels} ${seconds}
apiserver_request_duration_seconds_count${labels} ${calls}\n`;
};

test("writes of two seconds are named", () => {
  const [verdict] = slowRequests.judge(sampled(took("PUT", 0, 0), took("PUT", 20, 10)));
  assert.equal(verdict?.sentence, "PUT of pods takes 2.0 s");
});

test("watches, lists of two seconds, quick writes and a single slow one are well", () => {
  for (const [verb, seconds, calls] of [
    ["WATCH", 6000, 20],
    ["LIST", 20, 10],
    ["PUT", 5, 100],
    ["PUT", 9, 1],
  ] as const) {
    const well = sampled(took(verb, 0, 0), took(verb, seconds, calls));
    assert.deepEqual(slowRequests.judge(well), []);
  }
});
