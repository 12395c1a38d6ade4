/** What a group waits for, in words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { must } from "#base/assert.ts";
import { explainGroup } from "./explain-group.ts";
import { groupRefOf } from "./group-spec.ts";
import { gangPods, labelledPods } from "./testing.ts";

test("a Pod's group says how many Pods it has, needs and waits for", () => {
  const pods = gangPods("g", 3);
  const [first] = pods;
  const ref = must(first === undefined ? undefined : groupRefOf(first), "it names a group");
  const topology = [{ key: "rack" }];
  const group = (minCount: number) => ({
    apiVersion: "scheduling.k8s.io/v1alpha2",
    spec: { schedulingPolicy: { gang: { minCount } }, schedulingConstraints: { topology } },
  });
  assert.equal(
    explainGroup(ref, undefined, pods),
    "PodGroup a/g does not exist: its pods are held until it does",
  );
  const facts = (minCount: number) =>
    `PodGroup a/g: 3 pods, 0 of them placed; needs ${minCount}; all on nodes with one value of rack`;
  assert.equal(explainGroup(ref, group(5), pods), `${facts(5)}; waits for 2 more pods to be made`);
  assert.equal(explainGroup(ref, group(3), pods), `${facts(3)}; waits for room for 3 pods at once`);
});

test("the other form is read by its label", () => {
  const pods = labelledPods("g", 1, { nodeName: "n0" });
  const [first] = pods;
  const ref = must(first === undefined ? undefined : groupRefOf(first), "it names a group");
  assert.equal(
    explainGroup(ref, { spec: { minMember: 1 } } as object, pods),
    "PodGroup a/g: 1 pods, 1 of them placed; needs 1; is placed",
  );
});
