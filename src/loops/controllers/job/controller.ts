/**
 * Jobs: pods run until enough of them have succeeded, or the Job has failed.
 *
 * In     Jobs and their Pods. Out: Pods, the tracking finalizer, status, conditions, events.
 * Order  pods are created or deleted, then the status is written once, then finalizers are removed.
 * Safe   finished pods are counted exactly once (tally.ts); nothing is done before the caches show
 *        both the pods and the status written last.
 */
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { claimCached, indexForClaims, listControlled } from "../ownership/cached.ts";
import { controllerKey, controllerOf, controllerReference, ownerKeys } from "#client/owner.ts";
import { selectorOf } from "../ownership/selectors.ts";
import type { BackoffRecord } from "./backoff.ts";
import { hasLimitPerIndex } from "./per-index.ts";
import { isFinishedJob } from "./plan.ts";
import { gvk, JobPodControl } from "./pod-control.ts";
import { concludeRound, findEnding, gatherRound, planPods, type Round } from "./round.ts";
import { eventsOf } from "./status.ts";
import { isTracked, trackingFinalizer } from "./tracked.ts";

export const jobRole: ControllerRole = {
  account: "job-controller",
  rules: [
    "get,list,patch,update,watch | batch | jobs",
    "update | batch | jobs/status",
    "update | batch | jobs/finalizers",
    "create,delete,list,patch,watch | core | pods",
    "events",
  ],
};

const ownName = "kubernetes.io/job-controller";
/** Tracked pods by the key of their Job, ignoring its uid. */
const trackedIndex = "controllers.trackedJob";
/** Prefix of the keys of pods without a Job; a Job's key has only one slash. */
const orphanPrefix = "pods/";

export class JobController implements ControllerOptions<Job> {
  readonly name = "job-controller";
  readonly workers = 10;
  readonly ref = refs.jobs;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #jobExpectations: Expectations<Job>;
  readonly #podExpectations: Expectations<Pod>;
  readonly #backoffs = new Map<string, BackoffRecord>();
  readonly #control: JobPodControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const jobs = deps.informers.informer<Job>(refs.jobs);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    indexForClaims(this.#pods);
    this.#pods.addIndex(trackedIndex, trackedJobOf);
    this.#jobExpectations = new Expectations(jobs, deps.clock);
    this.#podExpectations = new Expectations(this.#pods, deps.clock);
    this.#control = new JobPodControl(deps, this.#podExpectations);
    const ownersOf = ownerKeys(jobs, gvk, isSelected);
    const keysOf = (pod: Pod): readonly string[] => {
      const keys = ownersOf(pod);
      // The Job released the pod, and no other controller removes the finalizer.
      const isReleased = keys.length === 0 && controllerOf(pod) === undefined && isTracked(pod);
      return isReleased ? [`${orphanPrefix}${keyOf(pod)}`] : keys;
    };
    const sizeOf = (key: string): number => jobs.getByKey(key)?.spec?.parallelism ?? 0;
    this.sources = [watch(this.#pods, keysOf, { sizeOf })];
  }

  async reconcile({ key, object: job }: ReconcileRequest<Job>): Promise<ReconcileResult> {
    if (key.startsWith(orphanPrefix)) return this.#releaseOrphan(key.slice(orphanPrefix.length));
    if (job !== undefined && (job.spec?.managedBy ?? ownName) !== ownName) return undefined;
    await this.#releaseNamesakes(key, job);
    if (job === undefined) return this.#forget(key);
    if (isFinishedJob(job)) return this.#releaseFinished(key, job);
    const isSatisfied =
      this.#jobExpectations.isSatisfied(key) && this.#podExpectations.isSatisfied(key);
    return isSatisfied ? this.#reconcileOpen(key, job) : unsatisfied;
  }

  async #reconcileOpen(key: string, job: Job): Promise<ReconcileResult> {
    const beganMs = this.#deps.clock.monotonicMs();
    const pods = await this.#claimPods(key, job);
    const known = { key, job, pods, nowMs: this.#deps.clock.nowMs() };
    const round = gatherRound(known, this.#backoffs.get(key));
    const ending = findEnding(round);
    const plan = planPods(round, ending);
    const outcome = await this.#control.carryOut(round, plan);
    const conclusion = concludeRound(round, { ending, waitMs: plan.waitMs }, outcome);
    await this.#writeStatus(key, job, conclusion.status);
    this.#keepBackoff(round);
    await this.#control.releasePods(key, conclusion.release);
    this.#deps.metrics?.jobSynced(job, {
      createdCount: outcome.createdCount,
      deletedCount: outcome.deleted.size,
      isFailed: outcome.error !== undefined,
      ms: this.#deps.clock.monotonicMs() - beganMs,
    });
    if (outcome.error !== undefined) throw outcome.error;
    const { requeueAfterMs } = conclusion;
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  async #releaseOrphan(podKey: string): Promise<undefined> {
    const pod = this.#pods.getByKey(podKey);
    if (pod === undefined || controllerOf(pod) !== undefined || !isTracked(pod)) return;
    await this.#control.releasePods(podKey, [pod]);
    this.#podExpectations.forget(podKey);
  }

  /** Releases pods of a deleted Job with the same key as this one. */
  async #releaseNamesakes(key: string, job: Job | undefined): Promise<void> {
    const pods = this.#pods.byIndex(trackedIndex, key);
    const others = pods.filter((pod) => controllerOf(pod)?.uid !== job?.metadata?.uid);
    await this.#control.releasePods(key, others);
  }

  async #releaseFinished(key: string, job: Job): Promise<undefined> {
    this.#forget(key);
    const pods = listControlled(this.#pods, job.metadata?.uid);
    await this.#control.releasePods(key, pods.filter(isTracked));
  }

  #forget(key: string): undefined {
    this.#podExpectations.forget(key);
    this.#jobExpectations.forget(key);
    this.#backoffs.delete(key);
  }

  #claimPods(key: string, job: Job): Promise<readonly Pod[]> {
    return claimCached(this.#pods, {
      client: this.#deps.client,
      ref: refs.pods,
      owner: job,
      ownerRef: refs.jobs,
      reference: controllerReference(gvk, job),
      matches: (pod) => isSelected(job, pod),
      finalizer: trackingFinalizer,
      onWrite: (pod) => this.#podExpectations.expectWrite(key, pod),
    });
  }

  /** Called after the status is written, because a conflict repeats the round and failures must count once. */
  #keepBackoff({ key, job, backoff }: Round): void {
    if (backoff === undefined || hasLimitPerIndex(job)) this.#backoffs.delete(key);
    else this.#backoffs.set(key, backoff);
  }

  async #writeStatus(key: string, job: Job, status: JobStatus): Promise<void> {
    if (jsonEqual(status, job.status)) return;
    const namespace = job.metadata?.namespace ?? "";
    const next = { ...job, status };
    const options = { subresource: "status" };
    const written = await this.#deps.client.update<Job>(refs.jobs, namespace, next, options);
    this.#jobExpectations.expectWrite(key, written);
    this.#deps.metrics?.jobStatusWritten(job, status);
    for (const { type, reason, message } of eventsOf(job, status))
      this.#deps.recorder.event(job, type, reason, message);
  }
}

function trackedJobOf(pod: Pod): readonly string[] {
  const key = controllerKey(pod, gvk);
  return key !== undefined && isTracked(pod) ? [key] : [];
}

function isSelected(job: Job, pod: Pod): boolean {
  return labelsMatch(selectorOf(job), pod.metadata?.labels ?? {});
}
