/** Numbers or percentages of a total. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { roundDownPercent, roundUpPercent } from "./percent.ts";

test("shares of a whole round up or down, numbers stay", () => {
  assert.deepEqual([roundUpPercent("25%", 10), roundDownPercent("25%", 10)], [3, 2]);
  assert.deepEqual([roundUpPercent(3, 10), roundDownPercent(3, 10)], [3, 3]);
  assert.deepEqual([roundUpPercent("0%", 10), roundUpPercent("100%", 7)], [0, 7]);
});
