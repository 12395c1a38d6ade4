/** Shares of several gates add up to the whole, for any number and name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shareOf } from "./share.ts";

test("the shares of all gates add up to the number, and differ by one at most", () => {
  for (const count of [1, 2, 3, 16]) {
    for (const whole of [0, 1, 5, 13, 245, 600]) {
      for (const name of ["", "catch-all", "leader-election"]) {
        const shares = Array.from({ length: count }, (_, index) =>
          shareOf(whole, { index, count }, name),
        );
        assert.equal(
          shares.reduce((sum, one) => sum + one, 0),
          whole,
        );
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
      }
    }
  }
});

test("a gate that is alone has all, one beyond the count nothing, and no limit stays none", () => {
  assert.equal(shareOf(7, undefined), 7);
  assert.equal(shareOf(7, { index: 3, count: 3 }), 0);
  assert.equal(shareOf(Number.POSITIVE_INFINITY, { index: 0, count: 3 }), Number.POSITIVE_INFINITY);
});
