/**
 * Jobs: pods run until enough of them have succeeded, or the Job has failed.
 *
 * In    Jobs and their Pods. Out: Pods, the tracking finalizer, status, conditions, events.
 * Turn  one look at the pods -> pods made or deleted -> one status write -> finalizers taken off.
 * Safe  finished pods are counted exactly once (tally.ts); nothing is done before the caches show
 *       both the pods and the status written last; pods deleted as surplus lose the finalizer first,
 *       so that they are not taken for failures.
 */
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../ownership/adopt.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { addGathered } from "../framework/gather.ts";
import { jsonEqual } from "../framework/equal.ts";
import { orphanIndex, orphanNamespace } from "../ownership/orphans.ts";
import { controllerKey, controllerOf, controllerReference } from "../ownership/owner.ts";
import { isActive, isReady, isTerminating } from "../pods/pod.ts";
import { isGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { slowStart } from "../framework/slow-start.ts";
import { nextRecord, remainingMs, type BackoffRecord } from "./backoff.ts";
import { noIndexes, type Indexes } from "./indexes.ts";
import {
  countAnnotations,
  dueIndexes,
  findFailedIndexes,
  hasLimitPerIndex,
  heldPods,
} from "./per-index.ts";
import { makeJobPod, type PodIndex } from "./pod.ts";
import * as plan from "./plan.ts";
import { eventsOf, jobStatus } from "./status.ts";
import { goingOn, isIndexed, tallyPods, type Tally, type TallyOptions } from "./tally.ts";
import { isTracked, trackingFinalizer } from "./tracked.ts";

const gvk = { group: "batch", version: "v1", kind: "Job" };
const workers = 10;
/** Pods made or deleted in one reconcile; upstream's MaxPodCreateDeletePerSync. */
const burst = 500;
const ownName = "kubernetes.io/job-controller";
/** Tracked pods by the key of their Job, for any uid of the Job. */
const trackedIndex = "controllers.trackedJob";
/** Keys of pods without a Job; keys of Jobs have one slash only. */
const orphanPrefix = "pods/";

/** What one reconcile knows of a Job, and what it has done so far. */
interface Round {
  readonly key: string;
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  /** As things are before anything is done. */
  readonly tally: Tally;
  readonly failed: Indexes | undefined;
  readonly held: ReadonlyMap<number, Pod>;
  readonly backoff: BackoffRecord | undefined;
  made: number;
  readonly deleted: Set<Pod>;
  /** When to look again, by the clock. */
  readonly waits: number[];
  error: unknown;
}

// long: one closure holds the informers, the expectations and the backoffs that the functions below share
export function jobController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const jobs = informers.informer<Job>(refs.jobs);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  pods.addIndex(orphanIndex, orphanNamespace);
  pods.addIndex(trackedIndex, (pod) => {
    const key = controllerKey(pod, gvk);
    return key !== undefined && isTracked(pod) ? [key] : [];
  });
  const podExpectations = new Expectations(pods, clock);
  const jobExpectations = new Expectations(jobs, clock);
  const backoffs = new Map<string, BackoffRecord>();
  const controller = queueController(deps, { name: "job-controller", workers }, reconcile);
  const { queue } = controller;
  jobs.addHandler({
    add: (job) => queue.add(keyOf(job)),
    update: (_old, job) => queue.add(keyOf(job)),
    delete: (job) => queue.add(keyOf(job)),
  });
  pods.addHandler({ add: wake, delete: wake, update: wakeChanged });
  return controller;

  function wakeChanged(old: Pod, pod: Pod): void {
    const before = controllerKey(old, gvk);
    if (before !== undefined && before !== controllerKey(pod, gvk)) queue.add(before);
    wake(pod);
  }

  function wake(pod: Pod): void {
    const key = controllerKey(pod, gvk);
    if (key !== undefined)
      return addGathered(queue, key, jobs.getByKey(key)?.spec?.parallelism ?? 0);
    if (controllerOf(pod) !== undefined) return;
    const takers = jobs.list(pod.metadata?.namespace).filter((job) => selects(job, pod));
    for (const job of takers) queue.add(keyOf(job));
    // Its Job released it: no other controller removes the finalizer.
    if (takers.length === 0 && isTracked(pod)) queue.add(`${orphanPrefix}${keyOf(pod)}`);
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    if (key.startsWith(orphanPrefix)) return releaseOrphan(key.slice(orphanPrefix.length));
    const job = jobs.getByKey(key);
    if (job !== undefined && (job.spec?.managedBy ?? ownName) !== ownName) return undefined;
    const strangers = pods
      .byIndex(trackedIndex, key)
      .filter((pod) => controllerOf(pod)?.uid !== job?.metadata?.uid);
    await releasePods(key, strangers);
    if (job === undefined) return forget(key);
    if (plan.isFinishedJob(job)) {
      forget(key);
      await releasePods(key, ownedBy(job).filter(isTracked));
      return undefined;
    }
    if (!jobExpectations.passed(key) || !podExpectations.passed(key)) return unfulfilled;
    return reconcileOpen(key, job);
  }

  function forget(key: string): undefined {
    podExpectations.forget(key);
    jobExpectations.forget(key);
    backoffs.delete(key);
  }

  async function releaseOrphan(podKey: string): Promise<undefined> {
    const pod = pods.getByKey(podKey);
    if (pod === undefined || controllerOf(pod) !== undefined || !isTracked(pod)) return;
    await releasePods(podKey, [pod]);
    podExpectations.forget(podKey);
  }

  function ownedBy(job: Job): readonly Pod[] {
    return pods.byIndex("controllers.controllerUid", job.metadata?.uid ?? "");
  }

  function claimPods(key: string, job: Job): Promise<readonly Pod[]> {
    const matches = (pod: Pod): boolean => selects(job, pod);
    const orphans = pods.byIndex(orphanIndex, job.metadata?.namespace ?? "").filter(matches);
    const adopter = {
      client,
      ref: refs.pods,
      owner: job,
      ownerRef: refs.jobs,
      reference: controllerReference(gvk, job),
      matches,
      finalizer: trackingFinalizer,
      wrote: (pod: Pod) => podExpectations.wrote(key, pod),
    };
    return claim(adopter, [...ownedBy(job), ...orphans]);
  }

  async function reconcileOpen(key: string, job: Job): Promise<ReconcileResult> {
    const round = lookAt(key, job, await claimPods(key, job));
    const nowMs = clock.nowMs();
    const deleting = job.metadata?.deletionTimestamp !== undefined;
    let ending = plan.endingOf(job, round.pods, round.tally, {
      failed: round.failed ?? noIndexes,
      nowMs,
    });
    if (ending !== undefined) await endPods(round);
    else if (!deleting) await manage(round);
    if (ending !== undefined && round.error !== undefined) ending = undefined;
    ending ??= plan.completion(job, round.tally, activeAfter(round));
    const tally = finalTally(round, ending?.type ?? (deleting ? "deleted" : "none"));
    const input = { job, tally, ending, failedIndexes: round.failed, counts: countsAfter(round) };
    const managed = !deleting && round.error === undefined;
    await writeStatus(key, job, jobStatus({ ...input, managed, now: formatTime(nowMs) }));
    noteBackoff(round);
    await releasePods(key, tally.release);
    if (round.error !== undefined) throw round.error;
    if (ending === undefined) noteDeadline(round, nowMs);
    return round.waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...round.waits) };
  }

  function lookAt(key: string, job: Job, mine: readonly Pod[]): Round {
    const tally = tallyPods(job, mine, goingOn);
    const failed =
      isIndexed(job) && hasLimitPerIndex(job) ? findFailedIndexes(job, mine) : undefined;
    const held =
      failed === undefined
        ? new Map<number, Pod>()
        : heldPods(job, mine, { completed: tally.seen, failed });
    const backoff = nextRecord(backoffs.get(key), tally.newlySucceeded, tally.newlyFailed);
    const done = { made: 0, deleted: new Set<Pod>(), waits: [], error: undefined };
    return {
      key,
      job,
      pods: mine,
      active: mine.filter(isActive),
      tally,
      failed,
      held,
      backoff,
      ...done,
    };
  }

  /** The pods to count and to release from the finalizer, given how the Job ends. */
  function finalTally({ job, pods: mine, held }: Round, ending: TallyOptions["ending"]): Tally {
    const uids = [...held.values()].map((pod) => pod.metadata?.uid ?? "");
    return tallyPods(job, mine, { ending, held: new Set(uids) });
  }

  function activeAfter({ active, made, deleted }: Round): number {
    return active.length + made - deleted.size;
  }

  function countsAfter(round: Round) {
    const left = round.active.filter((pod) => !round.deleted.has(pod));
    const terminating = round.pods.filter(isTerminating).length + round.deleted.size;
    return { active: activeAfter(round), ready: left.filter(isReady).length, terminating };
  }

  /** Only failures that are written down count: a conflict makes this round happen again. */
  function noteBackoff({ key, job, backoff }: Round): void {
    if (backoff === undefined || hasLimitPerIndex(job)) backoffs.delete(key);
    else backoffs.set(key, backoff);
  }

  function noteDeadline({ job, waits }: Round, nowMs: number): void {
    const deadline = plan.deadlineInMs(job, nowMs);
    if (deadline !== undefined) waits.push(Math.max(0, deadline));
  }

  /** Deletes what is at work, finalizers and all: the tally lets them go once they are counted. */
  async function endPods(round: Round): Promise<void> {
    const deletePlain = (pod: Pod): Promise<void> => deletePod(round, pod);
    round.error = await forEach(round.active, deletePlain);
  }

  /** Makes or deletes pods towards the wanted number; never both in one round. */
  async function manage(round: Round): Promise<void> {
    const { job, active, tally } = round;
    const wanted = plan.countWantedActive(job, active.length, tally);
    const surplus = plan.surplusPods(job, active, active.length - wanted);
    if (surplus.length > 0) {
      const drop = (pod: Pod): Promise<void> => dropPod(round, pod);
      round.error = await forEach(surplus.slice(0, burst), drop);
      return;
    }
    const missing = plan.missingPods(job, round.pods, { active: active.length, wanted });
    if (missing > 0) await createMissing(round, Math.min(missing, burst));
  }

  async function createMissing(round: Round, count: number): Promise<void> {
    const { job, tally, failed, held } = round;
    const nowMs = clock.nowMs();
    const waitMs = hasLimitPerIndex(job) ? 0 : remainingMs(round.backoff, nowMs);
    if (waitMs > 0) return void round.waits.push(waitMs);
    if (!isIndexed(job))
      return createPods(
        round,
        Array.from({ length: count }, () => undefined),
      );
    const over = [tally.seen, failed ?? noIndexes];
    const free = plan.indexesToCreate(job, round.pods, over, count);
    const next = dueIndexes(free, held, nowMs);
    if (next.waitMs !== undefined) round.waits.push(next.waitMs);
    const annotations = (index: number): Readonly<Record<string, string>> =>
      hasLimitPerIndex(job) ? countAnnotations(job, held.get(index)) : {};
    await createPods(
      round,
      next.due.map((index) => ({ index, annotations: annotations(index) })),
    );
  }

  async function createPods(
    round: Round,
    wanted: readonly (PodIndex | undefined)[],
  ): Promise<void> {
    const { job, key } = round;
    const namespace = job.metadata?.namespace ?? "";
    const owner = controllerReference(gvk, job);
    const { error } = await slowStart(wanted.length, async (at) => {
      const made = await client.create<Pod>(
        refs.pods,
        namespace,
        makeJobPod(job, owner, wanted[at]),
      );
      podExpectations.wrote(key, made);
      round.made++;
      const text = `Created pod: ${made.metadata?.name ?? ""}`;
      recorder.event(job, "Normal", "SuccessfulCreate", text);
    });
    if (error === undefined || isNamespaceGoing(error)) return;
    recorder.event(job, "Warning", "FailedCreate", `Error creating: ${textOf(error)}`);
    round.error = error;
  }

  /** A pod that is not needed: it loses the finalizer first, so that its end counts for nothing. */
  async function dropPod(round: Round, pod: Pod): Promise<void> {
    await releasePods(round.key, [pod].filter(isTracked));
    await deletePod(round, pod);
  }

  async function deletePod(round: Round, pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    podExpectations.deleting(round.key, pod);
    try {
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      recorder.event(round.job, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      podExpectations.notDeleted(round.key, pod);
      if (!isGone(error)) throw error;
    }
    round.deleted.add(pod);
  }

  async function releasePods(key: string, list: readonly Pod[]): Promise<void> {
    const error = await forEach(list, async (pod) => {
      const { namespace = "", name = "", uid } = pod.metadata ?? {};
      const gone = { "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] };
      const patch = { metadata: { uid, ...gone } };
      try {
        const ref = refs.pods;
        podExpectations.wrote(
          key,
          await client.patch<Pod>(ref, namespace, name, "strategic", patch),
        );
      } catch (refusal) {
        if (!(refusal instanceof ApiError) || (refusal.code !== 404 && refusal.code !== 422))
          throw refusal;
      }
    });
    if (error !== undefined) throw error;
  }

  async function writeStatus(key: string, job: Job, status: JobStatus): Promise<void> {
    if (jsonEqual(status, job.status)) return;
    const next = { ...job, status };
    const namespace = job.metadata?.namespace ?? "";
    const options = { subresource: "status" };
    jobExpectations.wrote(key, await client.update<Job>(refs.jobs, namespace, next, options));
    for (const { type, reason, message } of eventsOf(job, status))
      recorder.event(job, type, reason, message);
  }
}

function selects(job: Job, pod: Pod): boolean {
  return labelsMatch(selectorOf(job), pod.metadata?.labels ?? {});
}

/** @returns the first error, after all were tried. */
async function forEach(list: readonly Pod[], f: (pod: Pod) => Promise<void>): Promise<unknown> {
  const results = await Promise.allSettled(list.map(f));
  const refused = results.find((result) => result.status === "rejected");
  return refused?.reason;
}
