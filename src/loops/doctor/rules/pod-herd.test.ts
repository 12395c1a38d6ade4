/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Evidence } from "../evidence.ts";
import { named, sampled, secondsAgo, seen } from "../testing/evidence.ts";
import { podHerd } from "./pod-herd.ts";

const pods = (verb: string, count: number, subresource = ""): string =>
  `apiserver_request_total{verb="${verb}",resource="pods",subresource="${subresource}",code="201"} ${count}\n`;

function judge(after: string, leaseSeconds: number) {
  const lease = named("n1", { spec: { renewTime: secondsAgo(leaseSeconds) } });
  const evidence: Evidence = {
    ...sampled("", after),
    objects: seen({ nodeLeases: [lease] }).objects,
  };
  return podHerd.judge(evidence);
}

test("pods that are deleted and made anew while a node is silent name the node", () => {
  const [verdict] = judge(pods("DELETE", 15) + pods("POST", 15, "eviction") + pods("POST", 40), 90);
  assert.equal(verdict?.culprit, "node n1");
  assert.equal(verdict.figures["deletedPerSecond"], 30);
});

test("a roll-out on nodes that are all well, a few evictions, and mere deletions are well", () => {
  assert.deepEqual(judge(pods("DELETE", 100) + pods("POST", 100), 5), []);
  assert.deepEqual(judge(pods("POST", 10, "eviction") + pods("POST", 100), 90), []);
  assert.deepEqual(judge(pods("DELETE", 100), 90), []);
});
