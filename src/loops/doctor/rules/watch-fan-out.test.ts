/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { named, sampled, seen } from "../testing/evidence.ts";
import { watchFanOut } from "./watch-fan-out.ts";

const watches = (resource: string, count: number, scope = "cluster", verb = "WATCH"): string =>
  `apiserver_longrunning_requests{verb="${verb}",group="",resource="${resource}",scope="${scope}"} ${count}\n`;

function judge(after: string, nodes: number) {
  const nodeLeases = Array.from({ length: nodes }, (_, index) => named(`n${index}`));
  return watchFanOut.judge({ ...sampled("", after), objects: seen({ nodeLeases }).objects });
}

test("a kind that thousands watch on ten nodes is named; ten times that pages", () => {
  const [verdict] = judge(watches("pods", 400) + watches("pods", 400, "namespace"), 10);
  assert.equal(verdict?.culprit, "whoever watches pods");
  assert.deepEqual([verdict.severity, verdict.figures["watches"]], ["warn", 800]);
  assert.equal(judge(watches("pods", 6_000), 10)[0]?.severity, "page");
});

test("a DaemonSet's watches, kubelets' watches of single objects, and logs are well", () => {
  assert.deepEqual(judge(watches("services", 2_000), 1_000), []);
  assert.deepEqual(judge(watches("secrets", 9_000, "resource"), 100), []);
  assert.deepEqual(judge(watches("pods", 900, "namespace", "CONNECT"), 10), []);
});
