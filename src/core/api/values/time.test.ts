/** Times and durations as the API and tables write them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ageOf, formatMicroTime, formatTime, humanDuration, parseTime } from "./time.ts";

const durations: readonly (readonly [number, string])[] = [
  [-2, "<invalid>"],
  [-1, "0s"],
  [0, "0s"],
  [59, "59s"],
  [119, "119s"],
  [120, "2m"],
  [125, "2m5s"],
  [599, "9m59s"],
  [600, "10m"],
  [179 * 60 + 59, "179m"],
  [3 * 3600, "3h"],
  [3 * 3600 + 60, "3h1m"],
  [8 * 3600 - 1, "7h59m"],
  [8 * 3600 + 60, "8h"],
  [47 * 3600, "47h"],
  [48 * 3600, "2d"],
  [49 * 3600, "2d1h"],
  [8 * 86400, "8d"],
  [729 * 86400, "729d"],
  [730 * 86400, "2y"],
  [731 * 86400, "2y1d"],
  [8 * 365 * 86400, "8y"],
  [9 * 365 * 86400 + 5, "9y"],
];

for (const [seconds, expected] of durations) {
  test(`${seconds} seconds read as ${expected}`, () => {
    assert.equal(humanDuration(seconds * 1000), expected);
  });
}

test("times are read with any offset and written in UTC", () => {
  const time = parseTime("2026-01-02T05:04:05.678+02:00") ?? 0;
  assert.equal(formatTime(time), "2026-01-02T03:04:05Z");
  assert.equal(formatMicroTime(time), "2026-01-02T03:04:05.678000Z");
  for (const bad of ["2026-01-02", "2026-13-02T00:00:00Z", "now", "", undefined, null]) {
    assert.equal(parseTime(bad), undefined);
  }
});

test("ages of absent times are unknown", () => {
  assert.equal(ageOf("2026-01-02T03:04:05Z", Date.UTC(2026, 0, 2, 3, 4, 35)), "30s");
  assert.equal(ageOf(undefined, 0), "<unknown>");
});
