/** Which run is due, however many were missed, and what history keeps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import fc from "fast-check";
import { nextAfter, parseCron } from "#api/values/cron.ts";
import type { CronJob, Job } from "#api/gen/types.ts";
import { beyondHistory, dueRun, goneFromActive, jobNameAt, scheduledTimestamp } from "./plan.ts";

const at = (text: string): number => Date.parse(`2026-01-01T${text}Z`);

function cron(
  schedule: string,
  fields: { last?: string; deadline?: number; zone?: string } = {},
): CronJob {
  const { last, deadline, zone } = fields;
  return {
    metadata: { name: "tick", creationTimestamp: "2026-01-01T00:00:30Z" },
    spec: {
      schedule,
      jobTemplate: {},
      ...given({ startingDeadlineSeconds: deadline, timeZone: zone }),
    },
    ...(last === undefined ? {} : { status: { lastScheduleTime: `2026-01-01T${last}Z` } }),
  };
}

const dues: readonly (readonly [string, CronJob, string, string | undefined, string])[] = [
  ["nothing before the first time", cron("*/10 * * * *"), "00:05:00", undefined, "00:10:00"],
  ["the first time", cron("*/10 * * * *"), "00:10:00", "00:10:00", "00:20:00"],
  ["a little late", cron("*/10 * * * *"), "00:10:07", "00:10:00", "00:20:00"],
  ["not again", cron("*/10 * * * *", { last: "00:10:00" }), "00:10:07", undefined, "00:20:00"],
  ["of several missed the latest", cron("*/10 * * * *"), "01:05:00", "01:00:00", "01:10:00"],
  [
    "not one beyond the deadline",
    cron("0 * * * *", { deadline: 60 }),
    "01:05:00",
    undefined,
    "02:00:00",
  ],
  ["one within it", cron("0 * * * *", { deadline: 600 }), "01:05:00", "01:00:00", "02:00:00"],
  [
    "in its own zone",
    cron("30 9 * * *", { zone: "Asia/Kolkata" }),
    "05:00:00",
    "04:00:00",
    "04:00:00+1",
  ],
  [
    "intervals go on from the last run",
    cron("@every 40m", { last: "00:10:00" }),
    "01:00:00",
    "00:50:00",
    "01:30:00",
  ],
];
for (const [what, given, now, scheduled, next] of dues) {
  test(`due: ${what}`, () => {
    const due = dueRun(given, at(now));
    assert.equal(due.scheduledMs, scheduled === undefined ? undefined : at(scheduled));
    const [time = "", day] = next.split("+");
    assert.equal(due.nextMs, at(time) + (day === undefined ? 0 : 86_400_000));
    assert.equal(due.hasTooMany, false);
  });
}

test("after any pause the latest missed run is due, and more than 100 are told", () => {
  const schedule = fc.constantFrom(
    "* * * * *",
    "*/7 * * * *",
    "30 6-16/4 * * 1-5",
    "@every 90s",
    "0 0 1 * *",
  );
  const pause = fc.integer({ min: 1, max: 40 * 86_400 });
  fc.assert(
    fc.property(schedule, pause, (text, seconds) => {
      const given = cron(text);
      const start = at("00:00:30");
      const nowMs = start + seconds * 1000;
      const parsed = parseCron(text);
      const due = dueRun(given, nowMs);
      const first = nextAfter(parsed, start);
      if (first === undefined || first > nowMs) {
        assert.equal(due.scheduledMs, undefined);
        return;
      }
      const latest = due.scheduledMs ?? 0;
      assert.ok(latest <= nowMs && latest >= first);
      assert.ok((nextAfter(parsed, latest) ?? Number.POSITIVE_INFINITY) > nowMs);
      if (text !== "@every 90s") assert.equal(nextAfter(parsed, latest - 1000), latest);
      if (text === "* * * * *") assert.equal(due.hasTooMany, Math.floor((seconds + 30) / 60) > 100);
    }),
    { numRuns: 60 },
  );
});

test("the Job's name comes from the minute, its annotation from the zone", () => {
  const time = at("04:00:00");
  assert.equal(jobNameAt(cron("* * * * *"), time), `tick-${time / 60_000}`);
  assert.equal(scheduledTimestamp(cron("* * * * *"), time), "2026-01-01T04:00:00Z");
  const zoned = (zone: string): string => scheduledTimestamp(cron("* * * * *", { zone }), time);
  assert.equal(zoned("Asia/Kolkata"), "2026-01-01T09:30:00+05:30");
  assert.equal(zoned("America/New_York"), "2025-12-31T23:00:00-05:00");
  assert.equal(zoned("Etc/UTC"), "2026-01-01T04:00:00Z");
});

function job(name: string, type: string, start: string): Job {
  return {
    metadata: { name, uid: name },
    status: { startTime: `2026-01-01T${start}Z`, conditions: [{ type, status: "True" }] },
  };
}

test("history keeps the newest three that succeeded and the newest that failed", () => {
  const jobs = [
    job("e", "Complete", "05:00:00"),
    job("a", "Complete", "01:00:00"),
    job("b", "Complete", "02:00:00"),
    job("c", "Complete", "03:00:00"),
    job("f", "Failed", "06:00:00"),
    job("d", "Failed", "04:00:00"),
    { metadata: { name: "running" } },
  ];
  assert.deepEqual(
    beyondHistory(cron("* * * * *"), jobs).map((one) => one.metadata?.name),
    ["a", "d"],
  );
});

test("a Job that ran and has ended, or is missing, is told once: by the status that names it", () => {
  const active = ["done", "lost", "runs"].map((name) => ({ name, uid: name }));
  const jobs = [job("done", "Complete", "01:00:00"), { metadata: { name: "runs", uid: "runs" } }];
  const told = goneFromActive({ ...cron("* * * * *"), status: { active } }, jobs);
  assert.deepEqual(
    told.map((one) => one.message),
    ["Saw completed job: done, condition: Complete", "Active job went missing: lost"],
  );
});
