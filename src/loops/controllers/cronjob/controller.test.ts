/** CronJobs over the API in memory, with time that the test moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CronJob, Job } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, template, type World } from "../testing/world.ts";
import { CronJobController } from "./controller.ts";

type Spec = NonNullable<CronJob["spec"]>;
const minuteMs = 60_000;

async function started(fields: Partial<Spec> = {}): Promise<World> {
  const world = createWorld();
  const cron: CronJob = {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "tick", namespace: "default" },
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template } }, ...fields },
  };
  world.api.put(refs.cronjobs, cron);
  await world.start((deps) => new CronJobController(deps));
  return world;
}

function stored(world: World): CronJob | undefined {
  return world.api.peek<CronJob>(refs.cronjobs, "default", "tick");
}

function end(world: World, name: string, type = "Complete"): void {
  const job = world.api.peek<Job>(refs.jobs, "default", name);
  const conditions = [{ type, status: "True", lastTransitionTime: world.now() }];
  const status = { startTime: world.now(), completionTime: world.now(), conditions };
  world.api.put(refs.jobs, { ...job, status });
}

test("each minute makes one Job, named by it; a second run writes nothing", async () => {
  const world = await started();
  await world.advance(minuteMs + 200);
  assert.equal(names(world.api, refs.jobs).length, 1);
  assert.equal(stored(world)?.status?.lastScheduleTime, "2026-01-01T00:01:00Z");
  assert.equal(stored(world)?.status?.active?.length, 1);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new CronJobController(deps));
  assert.deepEqual(world.writes(), []);
  await world.advance(minuteMs);
  assert.equal(names(world.api, refs.jobs).length, 2);
  await world.stop();
});

test("Forbid waits for the run that is at work, then starts the one it missed", async () => {
  const world = await started({ concurrencyPolicy: "Forbid" });
  await world.advance(2 * minuteMs + 200);
  const first = names(world.api, refs.jobs);
  assert.equal(first.length, 1);
  assert.ok(world.events.some((event) => event.startsWith("Normal JobAlreadyActive")));
  end(world, first[0] ?? "");
  await world.rest();
  assert.equal(names(world.api, refs.jobs).length, 2);
  assert.equal(stored(world)?.status?.lastScheduleTime, "2026-01-01T00:02:00Z");
  assert.ok(world.events.some((event) => event.startsWith("Normal SawCompletedJob")));
  await world.stop();
});

test("Replace ends the run that is at work", async () => {
  const world = await started({ concurrencyPolicy: "Replace" });
  await world.advance(minuteMs + 200);
  const first = names(world.api, refs.jobs);
  await world.advance(minuteMs);
  assert.equal(names(world.api, refs.jobs).length, 1);
  assert.notDeepEqual(names(world.api, refs.jobs), first);
  await world.stop();
});

test("a suspended CronJob starts nothing", async () => {
  const world = await started({ suspend: true });
  await world.advance(5 * minuteMs);
  assert.deepEqual(names(world.api, refs.jobs), []);
  await world.stop();
});

test("finished runs beyond the history go, and the last success is remembered", async () => {
  const world = await started({ successfulJobsHistoryLimit: 1 });
  for (let round = 0; round < 3; round++) {
    await world.advance(minuteMs + 200);
    for (const name of names(world.api, refs.jobs)) end(world, name);
    await world.rest();
  }
  assert.equal(names(world.api, refs.jobs).length, 1);
  assert.equal(stored(world)?.status?.lastSuccessfulTime, world.now());
  await world.stop();
});

test("a schedule or zone that is none is told, and nothing runs", async () => {
  const world = await started({ schedule: "every now and then" });
  assert.match(world.events[0] ?? "", /^Warning UnparseableSchedule unparseable schedule: "every/);
  await world.stop();
  const other = await started({ timeZone: "Mars/Olympus" });
  assert.match(other.events[0] ?? "", /^Warning UnknownTimeZone invalid timeZone: "Mars\/Olympus"/);
  await other.stop();
});
