/** Finished Jobs go when their time is over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld } from "../testing/world.ts";
import { TtlAfterFinishedController } from "./controller.ts";

function job(ttlSecondsAfterFinished: number, ended?: string): Job {
  const conditions = [{ type: "Complete", status: "True", lastTransitionTime: ended ?? "" }];
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "done", namespace: "default" },
    spec: { template: {}, ttlSecondsAfterFinished },
    ...(ended === undefined ? {} : { status: { conditions } }),
  };
}

test("a finished Job is deleted in the foreground after its seconds, not before", async () => {
  const world = createWorld();
  world.api.put(refs.jobs, job(30, world.now()));
  await world.start((deps) => new TtlAfterFinishedController(deps));
  await world.advance(29_000);
  assert.deepEqual(world.writes(), []);
  await world.advance(2_000);
  const stored = world.api.peek<Job>(refs.jobs, "default", "done");
  assert.deepEqual(stored?.metadata?.finalizers, ["foregroundDeletion"]);
  assert.equal(world.writes().length, 1);
  await world.stop();
});

test("more seconds given in time are respected; a Job at work is none of its business", async () => {
  const world = createWorld();
  world.api.put(refs.jobs, job(10, world.now()));
  await world.start((deps) => new TtlAfterFinishedController(deps));
  await world.advance(5_000);
  world.api.put(refs.jobs, job(60, "2026-01-01T00:00:00Z"));
  await world.advance(20_000);
  assert.deepEqual(world.writes(), []);
  world.api.put(refs.jobs, job(0));
  await world.advance(120_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});
