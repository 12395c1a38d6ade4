/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { watchCacheRestart } from "./watch-cache-restart.ts";

const count = (resource: string, value: number): string =>
  `apiserver_watch_cache_initializations_total{group="",resource="${resource}"} ${value}\n`;

test("a cache that began anew names its kind", () => {
  const [verdict] = watchCacheRestart.judge(sampled(count("pods", 1), count("pods", 3)));
  assert.equal(verdict?.culprit, "watch cache of pods");
  assert.equal(verdict.figures["initializations"], 2);
});

test("the first start of a cache, and a cache that began anew before the look, are well", () => {
  const now = count("pods", 4) + count("shops", 1);
  assert.deepEqual(watchCacheRestart.judge(sampled(count("pods", 4), now)), []);
});
