/** Classes of Pods: how many are kept. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeTable } from "./node-table.ts";
import { PodClasses } from "./pod-class.ts";
import { podInfo } from "./pod-info.ts";
import { makePod } from "./testing.ts";

test("pods of ever new shapes take no more than a bounded number of classes", () => {
  const rules = { nodeFilters: [], nodeScores: [], roomFilters: [], roomScores: [] };
  const classes = new PodClasses({ nodes: new NodeTable() }, rules);
  for (let at = 0; at < 3_000; at++) {
    const pod = makePod(`pod-${at}`);
    classes.of(podInfo({ ...pod, spec: { ...pod.spec!, nodeSelector: { shape: String(at) } } }));
  }
  assert.equal(classes.count, 1_024);
});
