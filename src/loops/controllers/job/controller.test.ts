/** Jobs over the API in memory; every status written is one the API server would accept. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import type { JsonObject } from "#api/object.ts";
import { failure } from "#api/status.ts";
import { validateJobStatus } from "#api/validation/job-status.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { refs } from "../framework/refs.ts";
import { ControllerMetrics } from "../metrics.ts";
import { createWorld, pod, readyStatus, template, type World } from "../testing/world.ts";
import { JobController } from "./controller.ts";
import { indexAnnotation, isTracked, trackingFinalizer } from "./tracked.ts";

type Spec = NonNullable<Job["spec"]>;

function jobOf(fields: Partial<Spec> = {}): Job {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work", namespace: "default", generation: 1 },
    spec: {
      parallelism: 2,
      completions: 3,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      podReplacementPolicy: "TerminatingOrFailed",
      selector: { matchLabels: { app: "web" } },
      template,
      ...fields,
    },
  };
}

function stored(world: World): Job {
  return world.api.peek<Job>(refs.jobs, "default", "work") ?? {};
}

function change(world: World, fields: Partial<Spec>): void {
  const { spec, ...rest } = stored(world);
  world.api.put(refs.jobs, { ...rest, spec: { template, ...spec, ...fields } });
}

function pods(world: World): readonly Pod[] {
  return world.api.peekAll<Pod>(refs.pods);
}

function active(world: World): readonly Pod[] {
  return pods(world).filter((one) => ["Pending", "Running"].includes(one.status?.phase ?? ""));
}

async function end(
  world: World,
  phase: string,
  which: readonly Pod[] = active(world),
): Promise<void> {
  for (const one of which) world.setPod(one.metadata?.name ?? "", { phase }, "node-1");
  await world.rest();
}

function conditions(world: World): readonly string[] {
  return (stored(world).status?.conditions ?? []).map(
    (one) => `${one.type}=${one.status} ${one.reason}`,
  );
}

/** Starts the controller, checking each status it writes against the one before. */
async function start(world: World, job: Job): Promise<void> {
  world.api.put(refs.jobs, job);
  const update = world.api.update.bind(world.api);
  const checked: typeof update = (ref, namespace, object, options) => {
    const old = (stored(world) as unknown as JsonObject | undefined) ?? {};
    assert.deepEqual(validateJobStatus(object as unknown as JsonObject, old), []);
    return update(ref, namespace, object, options);
  };
  Object.assign(world.api, { update: checked });
  await world.start((deps) => new JobController(deps));
}

test("a Job runs its pods to completion, counts them, and a second run writes nothing", async () => {
  const world = createWorld();
  await start(world, jobOf());
  assert.equal(active(world).length, 2);
  assert.deepEqual(stored(world).status, {
    startTime: world.now(),
    active: 2,
    ready: 0,
    terminating: 0,
    uncountedTerminatedPods: {},
  });
  await end(world, "Succeeded");
  assert.equal(active(world).length, 1);
  assert.equal(stored(world).status?.succeeded, 2);
  await end(world, "Succeeded");
  assert.deepEqual(conditions(world), [
    "SuccessCriteriaMet=True CompletionsReached",
    "Complete=True CompletionsReached",
  ]);
  const status = stored(world).status;
  assert.equal(status?.succeeded, 3);
  assert.equal(status?.completionTime, world.now());
  assert.deepEqual(status?.uncountedTerminatedPods, {});
  assert.ok(pods(world).every((one) => !isTracked(one)));
  assert.ok(world.events.includes("Normal Completed Job completed"));
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new JobController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("SuccessCriteriaMet is stored before Complete", async () => {
  const world = createWorld();
  await start(world, jobOf({ completions: 1, parallelism: 1 }));
  world.forgetCalls();
  await end(world, "Succeeded");
  const written = world.api.calls
    .filter((call) => call.resource === "jobs" && call.verb === "update")
    .map((call) => (call.body as Job).status?.conditions?.map((one) => one.type) ?? []);
  assert.deepEqual(written, [["SuccessCriteriaMet"], ["SuccessCriteriaMet", "Complete"]]);
  await world.stop();
});

test("failed pods are replaced after 10 s, 20 s ..., and beyond the limit the Job fails", async () => {
  const world = createWorld();
  await start(world, jobOf({ parallelism: 1, completions: 1, backoffLimit: 1 }));
  await end(world, "Failed");
  assert.equal(active(world).length, 0);
  assert.equal(stored(world).status?.failed, 1);
  await world.advance(9_000);
  assert.equal(active(world).length, 0);
  await world.advance(1_500);
  assert.equal(active(world).length, 1);
  await end(world, "Failed");
  assert.deepEqual(conditions(world), [
    "FailureTarget=True BackoffLimitExceeded",
    "Failed=True BackoffLimitExceeded",
  ]);
  assert.equal(stored(world).status?.failed, 2);
  await world.stop();
});

test("at its deadline a Job ends its pods and waits for them to go before it has failed", async () => {
  const world = createWorld();
  await start(world, jobOf({ activeDeadlineSeconds: 60 }));
  for (const one of active(world))
    world.setPod(one.metadata?.name ?? "", readyStatus(world.now()), "n");
  await world.advance(60_000);
  assert.deepEqual(conditions(world), ["FailureTarget=True DeadlineExceeded"]);
  assert.equal(stored(world).status?.failed, 2);
  assert.equal(stored(world).status?.terminating, 2);
  for (const one of pods(world)) world.api.drop(refs.pods, "default", one.metadata?.name ?? "");
  await world.rest();
  assert.deepEqual(conditions(world).at(-1), "Failed=True DeadlineExceeded");
  assert.equal(stored(world).status?.failed, 2);
  await world.stop();
});

test("a suspended Job rests without pods and without failures; resumed it starts anew", async () => {
  const world = createWorld();
  await start(world, jobOf());
  change(world, { suspend: true });
  await world.rest();
  assert.deepEqual(pods(world), []);
  const status = stored(world).status;
  assert.deepEqual(
    [status?.active, status?.failed, status?.startTime],
    [undefined, undefined, undefined],
  );
  assert.deepEqual(conditions(world), ["Suspended=True JobSuspended"]);
  await world.advance(5_000);
  change(world, { suspend: false });
  await world.rest();
  assert.equal(active(world).length, 2);
  assert.equal(stored(world).status?.startTime, world.now());
  assert.deepEqual(conditions(world), ["Suspended=False JobResumed"]);
  await world.stop();
});

test("less parallelism deletes pods, which are not failures", async () => {
  const world = createWorld();
  await start(world, jobOf({ parallelism: 3 }));
  change(world, { parallelism: 1 });
  await world.rest();
  assert.equal(active(world).length, 1);
  assert.equal(stored(world).status?.failed, undefined);
  await world.stop();
});

test("an Indexed Job runs each index once, and a deleted pod's index again", async () => {
  const world = createWorld();
  await start(world, jobOf({ completionMode: "Indexed", parallelism: 3 }));
  const index = (one: Pod): string => one.metadata?.annotations?.[indexAnnotation] ?? "";
  assert.deepEqual(active(world).map(index).toSorted(), ["0", "1", "2"]);
  await end(
    world,
    "Succeeded",
    active(world).filter((one) => index(one) !== "1"),
  );
  assert.equal(stored(world).status?.completedIndexes, "0,2");
  const last = active(world)[0];
  await world.api.delete(refs.pods, "default", last?.metadata?.name ?? "");
  await world.advance(10_000);
  assert.deepEqual(active(world).map(index), ["1"]);
  assert.equal(stored(world).status?.failed, 1);
  await end(world, "Succeeded");
  assert.equal(stored(world).status?.completedIndexes, "0-2");
  assert.deepEqual(conditions(world).at(-1), "Complete=True CompletionsReached");
  await world.stop();
});

test("with a limit per index one index fails for good while the others go on", async () => {
  const world = createWorld();
  const spec = {
    completionMode: "Indexed",
    parallelism: 2,
    completions: 2,
    backoffLimitPerIndex: 1,
  };
  await start(world, jobOf({ ...spec, backoffLimit: 2_147_483_647 }));
  const zero = (): readonly Pod[] =>
    active(world).filter((one) => one.metadata?.annotations?.[indexAnnotation] === "0");
  await end(world, "Failed", zero());
  assert.equal(stored(world).status?.failed, undefined);
  await world.advance(10_000);
  assert.equal(
    zero()[0]?.metadata?.annotations?.["batch.kubernetes.io/job-index-failure-count"],
    "1",
  );
  assert.equal(stored(world).status?.failed, 1);
  await end(world, "Failed", zero());
  assert.equal(stored(world).status?.failedIndexes, "0");
  assert.equal(active(world).length, 1);
  await end(world, "Succeeded");
  assert.deepEqual(conditions(world).at(-1), "Failed=True FailedIndexes");
  assert.equal(stored(world).status?.completedIndexes, "1");
  assert.equal(stored(world).status?.failed, 2);
  await world.stop();
});

test("a success policy ends the other pods, which are not failures", async () => {
  const world = createWorld();
  const successPolicy = { rules: [{ succeededIndexes: "0" }] };
  await start(world, jobOf({ completionMode: "Indexed", parallelism: 3, successPolicy }));
  const first = active(world).filter((one) => one.metadata?.annotations?.[indexAnnotation] === "0");
  await end(world, "Succeeded", first);
  assert.deepEqual(conditions(world).at(-1), "Complete=True SuccessPolicy");
  assert.equal(active(world).length, 0);
  assert.equal(stored(world).status?.failed, undefined);
  await world.stop();
});

test("a status write that conflicts, a lost finalizer patch: each pod still counts once", async () => {
  const world = createWorld();
  await start(world, jobOf({ parallelism: 3 }));
  const conflict = failure(409, "Conflict", "modified");
  const crash = failure(500, "InternalError", "lost");
  world.api.fail((call) => call.resource === "jobs" && call.verb === "update", conflict, 1);
  world.api.fail((call) => call.resource === "pods" && call.verb === "patch", crash, 2);
  await end(world, "Succeeded");
  await world.advance(1_000);
  assert.equal(stored(world).status?.succeeded, 3);
  assert.deepEqual(conditions(world).at(-1), "Complete=True CompletionsReached");
  await world.stop();
});

test("pods of a Job that is gone, or was another of that name, lose the finalizer", async () => {
  const world = createWorld();
  const owner = {
    apiVersion: "batch/v1",
    kind: "Job",
    name: "work",
    uid: "earlier",
    controller: true,
  };
  const left = pod("left", {
    metadata: { finalizers: [trackingFinalizer], ownerReferences: [owner] },
  });
  world.api.put(refs.pods, left);
  world.api.put(refs.pods, pod("nobody", { metadata: { finalizers: [trackingFinalizer] } }));
  await start(world, jobOf());
  const tracked = pods(world)
    .filter(isTracked)
    .map((one) => one.metadata?.name);
  assert.equal(tracked.length, 2);
  world.api.drop(refs.jobs, "default", "work");
  await world.rest();
  assert.ok(pods(world).every((one) => !isTracked(one)));
  await world.stop();
});

test("an orphan that matches is adopted with the finalizer, so that its end counts", async () => {
  const world = createWorld();
  world.api.put(refs.pods, pod("orphan", { metadata: { labels: { app: "web" } } }));
  await start(world, jobOf({ parallelism: 1 }));
  assert.equal(pods(world).length, 1);
  const orphan = world.api.peek<Pod>(refs.pods, "default", "orphan");
  assert.ok(orphan !== undefined && isTracked(orphan));
  await end(world, "Succeeded");
  assert.equal(stored(world).status?.succeeded, 1);
  await world.stop();
});

test("a Job managed by somebody else is left alone", async () => {
  const world = createWorld();
  await start(world, jobOf({ managedBy: "example.com/other" }));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("pods that must end first are replaced when they have", async () => {
  const world = createWorld();
  await start(world, jobOf({ parallelism: 1, podReplacementPolicy: "Failed" }));
  const name = active(world)[0]?.metadata?.name ?? "";
  world.setPod(name, { phase: "Running" }, "node-1");
  await world.api.delete(refs.pods, "default", name);
  await world.advance(30_000);
  assert.equal(pods(world).length, 1);
  const status: JobStatus | undefined = stored(world).status;
  assert.deepEqual(
    [status?.active, status?.terminating, status?.failed],
    [undefined, 1, undefined],
  );
  world.setPod(name, { phase: "Failed" });
  await world.advance(10_000);
  assert.equal(active(world).length, 1);
  await world.stop();
});

test("a job's syncs and its end are counted", async () => {
  const world = createWorld();
  const set = new MetricSet();
  const metrics = new ControllerMetrics(set);
  world.api.put(refs.jobs, jobOf({ parallelism: 1, completions: 1 }));
  await world.start((deps) => new JobController({ ...deps, metrics }));
  await end(world, "Succeeded");
  await world.clock.advance(5_000);
  assert.deepEqual(conditions(world).at(-1), "Complete=True CompletionsReached");
  const lines = set.text().split("\n");
  const finished =
    'job_controller_jobs_finished_total{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1';
  assert.ok(lines.includes(finished), lines.filter((line) => line.includes("finished")).join("\n"));
  const created =
    'job_controller_job_syncs_total{completion_mode="NonIndexed",result="success",action="pods_created"} 1';
  assert.ok(lines.includes(created), lines.filter((line) => line.includes("syncs")).join("\n"));
  await world.stop();
});
