/** Schedules: which texts are refused, and when the others fire. */
import { readFileSync } from "node:fs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { CronError, isTimeZone, nextAfter, parseCron } from "./cron.ts";

const bad: readonly (readonly [string, string])[] = [
  ["", "empty spec string"],
  ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
  ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["1/2/3 * * * *", "too many slashes: 1/2/3"],
  ["@often", "unrecognized descriptor: @often"],
  ["@every x", 'failed to parse duration @every x: time: invalid duration "x"'],
  ["TZ=Mars/Base 0 * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"],
];

test("A bad schedule is refused with the text cron users know", () => {
  for (const [spec, message] of bad) {
    assert.throws(() => parseCron(spec), new CronError(message), spec);
  }
});

const times: readonly (readonly [string, string, string, string])[] = [
  ["* * * * *", "2024-01-01T00:00:30Z", "UTC", "2024-01-01T00:01:00Z"],
  ["* * * * *", "2024-01-01T00:00:00Z", "UTC", "2024-01-01T00:01:00Z"],
  ["0 * * * ?", "2024-01-01T23:10:00Z", "UTC", "2024-01-02T00:00:00Z"],
  ["*/15 2-4 * * *", "2024-01-01T04:45:00Z", "UTC", "2024-01-02T02:00:00Z"],
  ["59 23 31 12 5", "2024-01-01T00:00:00Z", "UTC", "2024-12-06T23:59:00Z"],
  ["0 0 29 feb *", "2024-03-01T00:00:00Z", "UTC", "2028-02-29T00:00:00Z"],
  ["0 9 * * mon-fri", "2024-06-07T09:00:00Z", "UTC", "2024-06-10T09:00:00Z"],
  ["0 0 */2 * 1", "2024-01-01T00:00:00Z", "UTC", "2024-01-03T00:00:00Z"],
  ["@hourly", "2024-01-01T00:00:00Z", "UTC", "2024-01-01T01:00:00Z"],
  ["@monthly", "2024-01-15T00:00:00Z", "UTC", "2024-02-01T00:00:00Z"],
  ["@every 90s", "2024-01-01T00:00:00Z", "UTC", "2024-01-01T00:01:30Z"],
  ["0 9 * * *", "2024-01-01T00:00:00Z", "Asia/Kolkata", "2024-01-01T03:30:00Z"],
  ["TZ=Asia/Tokyo 0 9 * * *", "2024-01-01T00:00:00Z", "UTC", "2024-01-02T00:00:00Z"],
  // Clocks go forward: 02:30 does not exist on 10 March.
  ["30 2 * * *", "2024-03-09T08:00:00Z", "America/New_York", "2024-03-11T06:30:00Z"],
  // Clocks go back: 01:00 comes twice on 3 November.
  ["0 1 * * *", "2024-11-03T04:00:00Z", "America/New_York", "2024-11-03T05:00:00Z"],
  ["0 1 * * *", "2024-11-03T05:00:00Z", "America/New_York", "2024-11-03T06:00:00Z"],
  ["45 1 * * *", "2024-11-03T05:30:00Z", "America/New_York", "2024-11-03T05:45:00Z"],
];

test("The next time is the first one the zone's calendar shows", () => {
  for (const [spec, from, zone, expected] of times) {
    const next = nextAfter(parseCron(spec), Date.parse(from), zone);
    assert.ok(next !== undefined, spec);
    assert.equal(new Date(next).toISOString(), new Date(expected).toISOString(), `${spec} ${from}`);
  }
});

test("The next times are those of upstream's library, around changes of clocks too", () => {
  const recorded = readFileSync(new URL("testdata/cron-next.txt", import.meta.url), "utf8");
  const lines = recorded.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.equal(lines.length, 300);
  for (const line of lines) {
    const [spec = "", zone = "", after = "", expected = ""] = line.split(" | ");
    const next = nextAfter(parseCron(spec), Date.parse(after), zone);
    const wanted = expected === "none" ? undefined : Date.parse(expected);
    assert.equal(next, wanted, line);
  }
});

test("A date that never comes gives no time", () => {
  assert.equal(nextAfter(parseCron("0 0 30 2 *"), 0), undefined);
});

test("Zones are known by their IANA names", () => {
  assert.equal(isTimeZone("Europe/Berlin"), true);
  assert.equal(isTimeZone("Etc/UTC"), true);
  assert.equal(isTimeZone("Nowhere"), false);
  assert.equal(isTimeZone(""), false);
});
