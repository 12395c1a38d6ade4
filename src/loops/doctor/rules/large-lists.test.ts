/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { largeLists } from "./large-lists.ts";

function answers(verb: string, count: number, bytes: number): string {
  const labels = `{verb="${verb}",group="",resource="pods",scope="cluster"}`;
  return `apiserver_response_sizes_count${labels} ${count}\napiserver_response_sizes_sum${labels} ${bytes}\n`;
}

test("lists of twenty megabytes name their kind", () => {
  const [verdict] = largeLists.judge(sampled("", answers("LIST", 2, 40 * 2 ** 20)));
  assert.equal(verdict?.culprit, "whoever lists pods");
  assert.match(verdict.sentence, /20 MiB/);
});

test("pages, large objects that are read alone, and large lists before the look are well", () => {
  assert.deepEqual(largeLists.judge(sampled("", answers("LIST", 90, 90 * 2 ** 20))), []);
  assert.deepEqual(largeLists.judge(sampled("", answers("GET", 1, 9 * 2 ** 20))), []);
  const old = answers("LIST", 2, 40 * 2 ** 20);
  assert.deepEqual(largeLists.judge(sampled(old, old)), []);
});
