/** The Job that a CronJob starts when a run is due, by its concurrency policy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CronJob, Job } from "#api/gen/types.ts";
import { template } from "../testing/world.ts";
import { planRun, type Run } from "./run.ts";

const createdAt = "2026-01-01T00:00:00Z";
const nowMs = Date.parse("2026-01-01T00:01:30Z");
const running: Job = { metadata: { name: "earlier", uid: "uid-earlier" } };

function planned(
  spec: Partial<NonNullable<CronJob["spec"]>> = {},
  fields: { readonly jobs?: readonly Job[]; readonly existing?: Job } = {},
): Run {
  const metadata = { name: "tick", namespace: "default", uid: "uid", creationTimestamp: createdAt };
  const cron: CronJob = {
    metadata,
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template } }, ...spec },
  };
  const findJob = (): Job | undefined => fields.existing;
  return planRun({ cron, jobs: fields.jobs ?? [], findJob, nowMs });
}

test("a due run creates a Job named after its minute, and the next run is known", () => {
  const { job, scheduledMs, nextMs } = planned();
  assert.equal(scheduledMs, Date.parse("2026-01-01T00:01:00Z"));
  assert.equal(nextMs, Date.parse("2026-01-01T00:02:00Z"));
  assert.equal(job?.metadata?.name, `tick-${(scheduledMs ?? 0) / 60_000}`);
});

test("a run whose Job exists starts nothing, and has started only when the Job is its own", () => {
  const reference = { apiVersion: "batch/v1", kind: "CronJob", name: "tick", controller: true };
  for (const uid of ["uid", "uid-other"]) {
    const existing: Job = { metadata: { ownerReferences: [{ ...reference, uid }] } };
    const { job, hasStarted } = planned({}, { existing });
    assert.deepEqual([job, hasStarted], [undefined, uid === "uid"]);
  }
});

test("Forbid waits for a running Job, Replace deletes it, Allow lets it run", () => {
  const jobs = [running];
  const policies = ["Forbid", "Replace", "Allow"].map((concurrencyPolicy) => {
    const { job, replaced, events } = planned({ concurrencyPolicy }, { jobs });
    return [job !== undefined, replaced.length, events.map(({ reason }) => reason)];
  });
  const expected = [
    [false, 0, ["JobAlreadyActive"]],
    [true, 1, []],
    [true, 0, []],
  ];
  assert.deepEqual(policies, expected);
});

test("a suspended CronJob starts nothing and is not repeated", () => {
  const { job, nextMs } = planned({ suspend: true });
  assert.deepEqual([job, nextMs], [undefined, undefined]);
});
