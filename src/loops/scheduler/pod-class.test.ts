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

test("a class that no Pod has any more is let go of; one that is in use stays", () => {
  const rules = { nodeFilters: [], nodeScores: [], roomFilters: [], roomScores: [] };
  const classes = new PodClasses({ nodes: new NodeTable() }, rules);
  const shaped = (shape: string) => {
    const pod = makePod(`pod-${shape}`);
    return podInfo({ ...pod, spec: { ...pod.spec!, nodeSelector: { shape } } });
  };
  const kept = classes.of(shaped("used"));
  for (let at = 0; at < 10; at++) classes.of(shaped(String(at)));
  classes.age();
  assert.equal(classes.count, 11, "all were used in this age");
  assert.equal(classes.of(shaped("used")), kept);
  classes.age();
  assert.equal(classes.count, 1);
  assert.equal(classes.of(shaped("used")), kept);
  classes.age();
  classes.age();
  assert.equal(classes.count, 0);
});
