/** Durations are read as Go's time.ParseDuration reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGoDuration } from "./go-duration.ts";

test("durations are Go's", () => {
  assert.equal(parseGoDuration("1m30s"), 90_000);
  assert.equal(parseGoDuration("1.5s"), 1500);
  assert.equal(parseGoDuration(".5s"), 500);
  assert.equal(parseGoDuration("2.h"), 7_200_000);
  assert.equal(parseGoDuration("-1h2ms"), -3_600_002);
  assert.equal(parseGoDuration("+250us"), 0.25);
  assert.equal(parseGoDuration("3\u00b5s"), 0.003);
  assert.equal(parseGoDuration("3\u03bcs"), 0.003);
  assert.equal(parseGoDuration("0"), 0);
});

test("a number without a unit, a unit without a number, and nothing are no durations", () => {
  for (const text of ["10", "s", "", "1d", ".s", "1.2.3s", "1 s", "constructor", "1toString"]) {
    assert.equal(parseGoDuration(text), undefined, text);
  }
});
