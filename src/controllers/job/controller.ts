/**
 * Jobs: pods run until enough of them have succeeded, or the Job has failed.
 *
 * In    Jobs and their Pods. Out: Pods, the tracking finalizer, status, conditions, events.
 * Safe  finished pods are counted exactly once (tally.ts); no pods are made before the cache shows
 *       the ones made last; a Job that ended makes no more and deletes those still at work.
 */
import type { Job, JobCondition, JobStatus, Pod } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes, keyOf } from "#client/local-store.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { Barrier } from "../shared/barrier.ts";
import { findCondition, withCondition } from "../shared/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { controllerKey, controllerReference } from "../shared/owner.ts";
import { refs } from "../shared/refs.ts";
import { slowStart } from "../shared/slow-start.ts";
import { failureVerdict } from "./failure-policy.ts";
import { makeJobPod } from "./pod.ts";
import * as plan from "./plan.ts";
import { isTracked, tallyPods, tallyStatus, trackingFinalizer, type Tally } from "./tally.ts";

const gvk = { group: "batch", version: "v1", kind: "Job" };
const workers = 10;
/** Pods made or deleted in one reconcile; upstream's MaxPodCreateDeletePerSync. */
const burst = 500;

interface Backoff {
  failures: number;
  readyMs: number;
}

// long: one closure holds the informers, the barrier and the backoffs that the functions below share
export function jobController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const jobs = informers.informer<Job>(refs.jobs);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  const barrier = new Barrier(pods, clock);
  const backoffs = new Map<string, Backoff>();
  const controller = queueController(deps, { name: "job-controller", workers }, reconcile);
  const { queue } = controller;
  jobs.addHandler({
    add: (job) => queue.add(keyOf(job)),
    update: (_old, job) => queue.add(keyOf(job)),
    delete: (job) => queue.add(keyOf(job)),
  });
  pods.addHandler({ add: wake, delete: wake, update: (_old, pod) => wake(pod) });
  return controller;

  function wake(pod: Pod): void {
    const key = controllerKey(pod, gvk);
    if (key !== undefined) return queue.add(key);
    // Its Job let it go by name or uid: nobody else takes the finalizer off.
    if (isTracked(pod) && pod.metadata?.deletionTimestamp !== undefined) void releasePods([pod]);
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const job = jobs.getByKey(key);
    if (job === undefined) return forget(key);
    if (job.spec?.managedBy !== undefined && job.spec.managedBy !== "kubernetes.io/job-controller")
      return undefined;
    const mine = pods.byIndex("controllers.controllerUid", job.metadata?.uid ?? "");
    if (plan.isFinishedJob(job) || job.metadata?.deletionTimestamp !== undefined)
      return releasePods(mine.filter(isTracked));
    const passed = barrier.passed(key);
    const tally = tallyPods(job, mine, (pod) => failureVerdict(job, pod).action === "Ignore");
    noteBackoff(key, tally);
    const ending = plan.endingOf(job, mine, tally, clock.nowMs());
    const wait =
      ending === undefined ? await goOn(key, job, mine, tally, passed) : await end(key, job, mine);
    const done =
      ending !== undefined &&
      (wait ?? 0) === 0 &&
      plan.terminatingCount(mine) === 0 &&
      plan.activePods(mine).length === 0;
    const isSettled =
      tally.release.length === 0 &&
      tally.uncounted.succeeded.length + tally.uncounted.failed.length === 0;
    await writeStatus(job, statusOf(job, mine, tally, ending, done && isSettled));
    await releasePods(tally.release);
    return wait === undefined || wait === 0 ? undefined : { requeueAfterMs: wait };
  }

  async function forget(key: string): Promise<void> {
    barrier.forget(key);
    backoffs.delete(key);
    const left = [...pods.values()].filter(
      (pod) => isTracked(pod) && controllerKey(pod, gvk) === key,
    );
    await releasePods(left);
  }

  function noteBackoff(key: string, tally: Tally): void {
    if (tally.newlySucceeded.length > 0) backoffs.delete(key);
    if (tally.newlyFailed.length === 0) return;
    const failures = (backoffs.get(key)?.failures ?? 0) + tally.newlyFailed.length;
    backoffs.set(key, { failures, readyMs: clock.monotonicMs() + plan.backoffMs(failures) });
  }

  /** Makes or deletes pods towards the wanted number. @returns when to look again, if by the clock. */
  async function goOn(
    key: string,
    job: Job,
    mine: readonly Pod[],
    tally: Tally,
    passed: boolean,
  ): Promise<number | undefined> {
    const active = plan.activePods(mine);
    const wanted = plan.wantedActive(job, active.length, tally);
    const deadline = plan.deadlineInMs(job, clock.nowMs());
    if (!passed) return deadline;
    if (active.length > wanted) {
      await deletePods(key, job, plan.surplus(active, active.length - wanted));
      return deadline;
    }
    const replaced = job.spec?.podReplacementPolicy === "Failed" ? plan.terminatingCount(mine) : 0;
    const missing = Math.min(burst, wanted - active.length - replaced);
    if (missing <= 0) return deadline;
    const waitMs = (backoffs.get(key)?.readyMs ?? 0) - clock.monotonicMs();
    if (waitMs > 0) return Math.min(waitMs, deadline ?? waitMs);
    await createPods(key, job, plan.indexesToCreate(job, active, tally, missing));
    return deadline;
  }

  async function end(key: string, job: Job, mine: readonly Pod[]): Promise<number> {
    await deletePods(key, job, plan.activePods(mine));
    return 0;
  }

  async function createPods(
    key: string,
    job: Job,
    indexes: readonly (number | undefined)[],
  ): Promise<void> {
    const namespace = job.metadata?.namespace ?? "";
    const owner = controllerReference(gvk, job);
    const { error } = await slowStart(indexes.length, async (at) => {
      const made = await client.create<Pod>(
        refs.pods,
        namespace,
        makeJobPod(job, owner, indexes[at]),
      );
      barrier.wrote(key, made);
      recorder.event(
        job,
        "Normal",
        "SuccessfulCreate",
        `Created pod: ${made.metadata?.name ?? ""}`,
      );
    });
    if (error === undefined) return;
    recorder.event(
      job,
      "Warning",
      "FailedCreate",
      `Error creating: ${error instanceof Error ? error.message : ""}`,
    );
    throw error;
  }

  async function deletePods(key: string, job: Job, victims: readonly Pod[]): Promise<void> {
    await Promise.all(
      victims.slice(0, burst).map(async (pod) => {
        const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
        barrier.deleting(key, pod);
        try {
          await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
          recorder.event(job, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
        } catch (error) {
          barrier.notDeleted(key, pod);
          if (!isGone(error)) throw error;
        }
      }),
    );
  }

  async function releasePods(list: readonly Pod[]): Promise<undefined> {
    await Promise.all(
      list.map(async (pod) => {
        const { namespace = "", name = "", uid, finalizers = [] } = pod.metadata ?? {};
        const patch = {
          metadata: { uid, finalizers: finalizers.filter((text) => text !== trackingFinalizer) },
        };
        await client.patch(refs.pods, namespace, name, "merge", patch).catch((error: unknown) => {
          if (!isGone(error)) throw error;
        });
      }),
    );
    return undefined;
  }

  function statusOf(
    job: Job,
    mine: readonly Pod[],
    tally: Tally,
    ending: plan.Ending | undefined,
    done: boolean,
  ): JobStatus {
    const now = formatTime(clock.nowMs());
    const isSuspended = job.spec?.suspend === true;
    const active = plan.activePods(mine).length;
    const { startTime: started, ...old } = job.status ?? {};
    const startTime = isSuspended ? undefined : (started ?? now);
    const conditions = conditionsOf(job, ending, done, now);
    const isComplete = done && ending?.type === "Complete";
    return {
      ...(old.failedIndexes === undefined ? {} : { failedIndexes: old.failedIndexes }),
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(startTime === undefined ? {} : { startTime }),
      ...(isComplete ? { completionTime: now } : {}),
      ...(active === 0 ? {} : { active }),
      ready: plan.readyCount(mine),
      terminating: plan.terminatingCount(mine),
      ...tallyStatus(tally),
    };
  }

  function conditionsOf(
    job: Job,
    ending: plan.Ending | undefined,
    done: boolean,
    now: string,
  ): readonly JobCondition[] {
    const set = (
      all: readonly JobCondition[],
      type: string,
      status: string,
      reason: string,
      message: string,
    ) =>
      withCondition(all, {
        type,
        status,
        reason,
        message,
        lastProbeTime: now,
        lastTransitionTime: now,
      });
    let conditions: readonly JobCondition[] = job.status?.conditions ?? [];
    if (ending !== undefined) {
      const early = ending.type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
      conditions = set(conditions, early, "True", ending.reason, ending.message);
      if (done) conditions = set(conditions, ending.type, "True", ending.reason, ending.message);
      return conditions;
    }
    const suspended = findCondition(conditions, "Suspended");
    if (job.spec?.suspend === true && suspended?.status !== "True") {
      recorder.event(job, "Normal", "Suspended", "Job suspended");
      return set(conditions, "Suspended", "True", "JobSuspended", "Job suspended");
    }
    if (job.spec?.suspend !== true && suspended?.status === "True") {
      recorder.event(job, "Normal", "Resumed", "Job resumed");
      return set(conditions, "Suspended", "False", "JobResumed", "Job resumed");
    }
    return conditions;
  }

  async function writeStatus(job: Job, status: JobStatus): Promise<void> {
    if (jsonEqual(status, job.status)) return;
    const namespace = job.metadata?.namespace ?? "";
    await client.update<Job>(refs.jobs, namespace, { ...job, status }, { subresource: "status" });
    const ended = (s: JobStatus | undefined, type: string): boolean =>
      findCondition(s?.conditions, type)?.status === "True";
    if (ended(status, "Complete") && !ended(job.status, "Complete"))
      recorder.event(job, "Normal", "Completed", "Job completed");
    if (!ended(status, "Failed") || ended(job.status, "Failed")) return;
    const failed = findCondition(status.conditions, "Failed");
    recorder.event(job, "Warning", failed?.reason ?? "Failed", failed?.message ?? "");
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && [404, 409, 422].includes(error.code);
}
