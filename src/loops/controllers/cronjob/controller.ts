/**
 * CronJobs: a Job at each time of the schedule, as the concurrency policy allows.
 *
 * In    CronJobs and their Jobs. Out: Jobs, status, events.
 * Safe  the Job's name is derived from the scheduled minute, so a run starts only once, even when
 *       several controllers try.
 */
import type { CronJob, CronJobStatus, Job } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { indexByController, listControlled } from "../ownership/cached.ts";
import { controllerKey } from "#client/owner.ts";
import { JobControl } from "./job-control.ts";
import { beyondHistory, goneFromActive } from "./plan.ts";
import { gvk, planRun, type CronEvent, type Run } from "./run.ts";
import { cronStatus } from "./status.ts";

export const cronJobRole: ControllerRole = {
  account: "cronjob-controller",
  rules: [
    "get,list,update,watch | batch | cronjobs",
    "create,delete,get,list,patch,update,watch | batch | jobs",
    "update | batch | cronjobs/status",
    "update | batch | cronjobs/finalizers",
    "delete,list,watch | core | pods",
    "events",
  ],
};

/** Delay that ensures a start after the scheduled time rather than before. */
const skewMs = 100;

export class CronJobController implements ControllerOptions<CronJob> {
  readonly name = "cronjob-controller";
  readonly workers = 5;
  readonly ref = refs.cronjobs;
  readonly when = { on: ["add", "update"] } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #jobs: Informer<Job>;
  readonly #expectations: Expectations<Job>;
  readonly #control: JobControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#jobs = deps.informers.informer<Job>(refs.jobs);
    indexByController(this.#jobs);
    this.#expectations = new Expectations(this.#jobs, deps.clock);
    this.#control = new JobControl(deps, this.#expectations);
    this.sources = [watch(this.#jobs, (job) => controllerKey(job, gvk))];
  }

  async reconcile({ key, object: cron }: ReconcileRequest<CronJob>): Promise<ReconcileResult> {
    if (cron === undefined) return this.#expectations.forget(key);
    if (cron.metadata?.deletionTimestamp !== undefined) return undefined;
    if (!this.#expectations.isSatisfied(key)) return unsatisfied;
    const jobs = listControlled(this.#jobs, cron.metadata?.uid);
    this.#record(cron, goneFromActive(cron, jobs));
    await this.#control.deleteJobs(cron, beyondHistory(cron, jobs));
    const run = this.#planRun(cron, jobs);
    this.#record(cron, run.events);
    const started = await this.#start(cron, run);
    const hasStarted = run.hasStarted || started !== undefined;
    const scheduledMs = hasStarted ? run.scheduledMs : undefined;
    await this.#writeStatus(cron, cronStatus({ cron, jobs, started, scheduledMs }));
    return this.#requeue(run);
  }

  #record(cron: CronJob, events: readonly CronEvent[]): void {
    for (const { type, reason, message } of events)
      this.#deps.recorder.event(cron, type, reason, message);
  }

  #planRun(cron: CronJob, jobs: readonly Job[]): Run {
    const namespace = cron.metadata?.namespace ?? "";
    const findJob = (name: string): Job | undefined => this.#jobs.get(namespace, name);
    return planRun({ cron, jobs, findJob, nowMs: this.#deps.clock.nowMs() });
  }

  async #start(cron: CronJob, { job, replaced, scheduledMs }: Run): Promise<Job | undefined> {
    await this.#control.deleteJobs(cron, replaced);
    const made = job === undefined ? undefined : await this.#control.createJob(cron, job);
    if (made !== undefined && scheduledMs !== undefined)
      this.#deps.metrics?.cronJobCreated(this.#deps.clock.nowMs() - scheduledMs);
    return made;
  }

  async #writeStatus(cron: CronJob, status: CronJobStatus): Promise<void> {
    if (jsonEqual(status, cron.status ?? {})) return;
    const namespace = cron.metadata?.namespace ?? "";
    const next = { ...cron, status };
    await this.#deps.client.update(refs.cronjobs, namespace, next, { subresource: "status" });
  }

  #requeue({ nextMs }: Run): ReconcileResult {
    if (nextMs === undefined) return undefined;
    return { requeueAfterMs: nextMs - this.#deps.clock.nowMs() + skewMs };
  }
}
