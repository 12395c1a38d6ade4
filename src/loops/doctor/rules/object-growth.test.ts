/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { objectGrowth } from "./object-growth.ts";

const old = (resource: string, count: number): string =>
  `apiserver_storage_objects{resource="${resource}"} ${count}\n`;

test("a kind that leaks is named, in the older and the newer metric", () => {
  const [secrets] = objectGrowth.judge(sampled("", old("secrets", 40_000)));
  assert.equal(secrets?.culprit, "whoever makes secrets");
  const newer = `apiserver_resource_objects{group="batch",resource="jobs"} 30000\n`;
  assert.match(objectGrowth.judge(sampled("", newer))[0]?.sentence ?? "", /30000 jobs\.batch/);
});

test("few objects, kinds that grow with the cluster, and a kind told as -1 are well", () => {
  const well = old("secrets", 20_000) + old("pods", 150_000) + old("jobs.batch", -1);
  assert.deepEqual(objectGrowth.judge(sampled("", well)), []);
  assert.deepEqual(objectGrowth.judge(sampled("", old("leases.coordination.k8s.io", 99_999))), []);
});
