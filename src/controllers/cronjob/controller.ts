/**
 * CronJobs: a Job at each time of the schedule, as the concurrency policy allows.
 *
 * Safe  the Job's name is derived from the scheduled minute, so a run starts only once, even when several
 *       controllers try.
 */
import type { CronJob, CronJobStatus, Job } from "#api/gen/types.ts";
import { CronError, isTimeZone } from "#api/cron.ts";
import { formatTime } from "#api/time.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { controllerKey, controllerOf, controllerReference } from "../ownership/owner.ts";
import { isGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { findCondition } from "../framework/conditions.ts";
import { isFinishedJob } from "../job/plan.ts";
import {
  beyondHistory,
  dueRun,
  goneFromActive,
  jobNameAt,
  scheduledTimestamp,
  type Due,
} from "./plan.ts";

const gvk = { group: "batch", version: "v1", kind: "CronJob" };
const workers = 5;
/** Start a little late rather than a little early. */
const skewMs = 100;

// long: one closure holds the informers that the small functions below share
export function cronJobController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const crons = informers.informer<CronJob>(refs.cronjobs);
  const jobs = informers.informer<Job>(refs.jobs);
  jobs.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  const expectations = new Expectations(jobs, clock);
  const controller = queueController(deps, { name: "cronjob-controller", workers }, reconcile);
  const { queue } = controller;
  crons.addHandler({
    add: (cron) => queue.add(keyOf(cron)),
    update: (_old, cron) => queue.add(keyOf(cron)),
  });
  const wake = (job: Job): void => {
    const key = controllerKey(job, gvk);
    if (key !== undefined) queue.add(key);
  };
  jobs.addHandler({ add: wake, update: (_old, job) => wake(job), delete: wake });
  return controller;

  async function reconcile(key: string): Promise<ReconcileResult> {
    const cron = crons.getByKey(key);
    if (cron === undefined) return expectations.forget(key);
    if (cron.metadata?.deletionTimestamp !== undefined) return undefined;
    if (!expectations.passed(key)) return unfulfilled;
    const mine = jobs.byIndex("controllers.controllerUid", cron.metadata?.uid ?? "");
    const running = mine.filter((job) => !isFinishedJob(job));
    for (const { reason, message } of goneFromActive(cron, mine))
      recorder.event(cron, "Normal", reason, message);
    await trimHistory(cron, mine);
    const due = dueOf(cron);
    if (due === undefined || cron.spec?.suspend === true) {
      await writeStatus(cron, statusOf(cron, running, mine));
      return undefined;
    }
    const started = await startDue(cron, due, running);
    await writeStatus(cron, {
      ...statusOf(cron, [...running, ...started], mine),
      ...lastScheduled(cron, due, started),
    });
    return due.nextMs === undefined
      ? undefined
      : { requeueAfterMs: due.nextMs - clock.nowMs() + skewMs };
  }

  function dueOf(cron: CronJob): Due | undefined {
    const zone = cron.spec?.timeZone;
    if (zone !== undefined && !isTimeZone(zone)) {
      const text = `invalid timeZone: ${JSON.stringify(zone)}: unknown time zone ${zone}`;
      recorder.event(cron, "Warning", "UnknownTimeZone", text);
      return undefined;
    }
    try {
      const due = dueRun(cron, clock.nowMs());
      if (due.tooMany) {
        recorder.event(
          cron,
          "Warning",
          "TooManyMissedTimes",
          "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
        );
      }
      return due;
    } catch (error) {
      if (!(error instanceof CronError)) throw error;
      const schedule = JSON.stringify(cron.spec?.schedule ?? "");
      const text = `unparseable schedule: ${schedule} : ${error.message}`;
      recorder.event(cron, "Warning", "UnparseableSchedule", text);
      return undefined;
    }
  }

  async function startDue(
    cron: CronJob,
    due: Due,
    running: readonly Job[],
  ): Promise<readonly Job[]> {
    if (due.scheduledMs === undefined) return [];
    const name = jobNameAt(cron, due.scheduledMs);
    const namespace = cron.metadata?.namespace ?? "";
    if (jobs.get(namespace, name) !== undefined) return [];
    if (running.length > 0 && cron.spec?.concurrencyPolicy === "Forbid") {
      recorder.event(
        cron,
        "Normal",
        "JobAlreadyActive",
        "Not starting job because prior execution is running and concurrency policy is Forbid",
      );
      return [];
    }
    if (cron.spec?.concurrencyPolicy === "Replace")
      await Promise.all(running.map((job) => removeJob(cron, job)));
    return createJob(cron, name, due.scheduledMs);
  }

  async function createJob(
    cron: CronJob,
    name: string,
    scheduledMs: number,
  ): Promise<readonly Job[]> {
    const namespace = cron.metadata?.namespace ?? "";
    const template = cron.spec?.jobTemplate;
    const job: Job = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        name,
        namespace,
        labels: { ...template?.metadata?.labels },
        annotations: {
          ...template?.metadata?.annotations,
          "batch.kubernetes.io/cronjob-scheduled-timestamp": scheduledTimestamp(cron, scheduledMs),
        },
        ownerReferences: [controllerReference(gvk, cron)],
      },
      ...(template?.spec === undefined ? {} : { spec: template.spec }),
    };
    try {
      const made = await client.create<Job>(refs.jobs, namespace, job);
      expectations.wrote(keyOf(cron), made);
      recorder.event(cron, "Normal", "SuccessfulCreate", `Created job ${name}`);
      return [made];
    } catch (error) {
      if (isAlreadyExists(error) || isNamespaceGoing(error)) return [];
      const text = `Error creating job: ${textOf(error)}`;
      recorder.event(cron, "Warning", "FailedCreate", text);
      throw error;
    }
  }

  async function trimHistory(cron: CronJob, mine: readonly Job[]): Promise<void> {
    await Promise.all(beyondHistory(cron, mine).map((job) => removeJob(cron, job)));
  }

  async function removeJob(cron: CronJob, job: Job): Promise<void> {
    const { namespace = "", name = "", uid = "" } = job.metadata ?? {};
    try {
      await client.delete(refs.jobs, namespace, name, {
        propagationPolicy: "Background",
        preconditions: { uid },
      });
      recorder.event(cron, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    } catch (error) {
      if (isGone(error)) return;
      recorder.event(cron, "Warning", "FailedDelete", `Deleted job: ${textOf(error)}`);
      throw error;
    }
  }

  function statusOf(cron: CronJob, running: readonly Job[], mine: readonly Job[]): CronJobStatus {
    const active = running.map((job) => ({
      apiVersion: "batch/v1",
      kind: "Job",
      name: job.metadata?.name ?? "",
      namespace: job.metadata?.namespace ?? "",
      uid: job.metadata?.uid ?? "",
      resourceVersion: job.metadata?.resourceVersion ?? "",
    }));
    const ends = mine
      .filter((job) => findCondition(job.status?.conditions, "Complete")?.status === "True")
      .map((job) => job.status?.completionTime ?? "");
    const last = [...ends, cron.status?.lastSuccessfulTime ?? ""].toSorted().at(-1) ?? "";
    const scheduled = cron.status?.lastScheduleTime;
    return {
      ...(active.length === 0 ? {} : { active: keepVersions(active, cron.status?.active) }),
      ...(scheduled === undefined ? {} : { lastScheduleTime: scheduled }),
      ...(last === "" ? {} : { lastSuccessfulTime: last }),
    };
  }

  function lastScheduled(cron: CronJob, due: Due, started: readonly Job[]): CronJobStatus {
    const ran = started.length > 0 || isKnown(cron, due.scheduledMs);
    return due.scheduledMs !== undefined && ran
      ? { lastScheduleTime: formatTime(due.scheduledMs) }
      : {};
  }

  function isKnown(cron: CronJob, scheduledMs: number | undefined): boolean {
    if (scheduledMs === undefined) return false;
    const job = jobs.get(cron.metadata?.namespace ?? "", jobNameAt(cron, scheduledMs));
    return job !== undefined && controllerOf(job)?.uid === cron.metadata?.uid;
  }

  async function writeStatus(cron: CronJob, status: CronJobStatus): Promise<void> {
    if (jsonEqual(status, cron.status ?? {})) return;
    const namespace = cron.metadata?.namespace ?? "";
    await client.update<CronJob>(
      refs.cronjobs,
      namespace,
      { ...cron, status },
      { subresource: "status" },
    );
  }
}

interface ActiveReference {
  readonly uid?: string;
}

/** A running job's own status changes must not make the CronJob's status change with it. */
function keepVersions<T extends ActiveReference>(
  active: readonly T[],
  old: readonly ActiveReference[] | undefined,
): readonly T[] {
  return active.map((reference) => {
    const before = old?.find((other) => other.uid === reference.uid);
    return before === undefined ? reference : (before as T);
  });
}
