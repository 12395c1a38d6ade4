/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { slowWatchers } from "./slow-watchers.ts";

const cut = (count: number): string =>
  `apiserver_terminated_watchers_total{group="",resource="pods"} ${count}\n`;

test("watchers of a kind that are cut off are told, with the kind", () => {
  const [verdict] = slowWatchers.judge(sampled(cut(10), cut(30)));
  assert.equal(verdict?.culprit, "watchers of pods");
  assert.equal(verdict.figures["watchers"], 20);
});

test("one of them, and those of long ago, are well", () => {
  assert.deepEqual(slowWatchers.judge(sampled(cut(10), cut(11))), []);
  assert.deepEqual(slowWatchers.judge(sampled(cut(900), cut(900))), []);
});
