/**
 * CronJobs: a Job at each time of the schedule, as the concurrency policy allows.
 *
 * In    CronJobs and their Jobs. Out: Jobs, status, events.
 * Safe  the Job's name is derived from the scheduled minute, so a run starts only once, even when
 *       several controllers try.
 */
import type { CronJob, CronJobStatus, Job } from "#api/gen/types.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { jsonEqual } from "#api/json-value.ts";
import { Expectations, unsatisfied } from "../framework/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { indexByController, listControlled } from "../ownership/cached.ts";
import { controllerKey } from "../ownership/owner.ts";
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

const workers = 5;
/** Start a little late rather than a little early. */
const skewMs = 100;

export class CronJobController implements Controller {
  readonly name = "cronjob-controller";
  readonly #deps: ControllerDeps;
  readonly #crons: Informer<CronJob>;
  readonly #jobs: Informer<Job>;
  readonly #expectations: Expectations<Job>;
  readonly #control: JobControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#crons = deps.informers.informer<CronJob>(refs.cronjobs);
    this.#jobs = deps.informers.informer<Job>(refs.jobs);
    indexByController(this.#jobs);
    this.#expectations = new Expectations(this.#jobs, deps.clock);
    this.#control = new JobControl(deps, this.#expectations);
    const options = { name: this.name, workers };
    this.#loop = queueController(deps, options, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandlers(): void {
    const { queue } = this.#loop;
    this.#crons.addHandler({
      add: (cron) => queue.add(keyOf(cron)),
      update: (_old, cron) => queue.add(keyOf(cron)),
    });
    this.#jobs.addHandler({
      add: (job) => this.#wakeOwner(job),
      update: (_old, job) => this.#wakeOwner(job),
      delete: (job) => this.#wakeOwner(job),
    });
  }

  #wakeOwner(job: Job): void {
    const key = controllerKey(job, gvk);
    if (key !== undefined) this.#loop.queue.add(key);
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const cron = this.#crons.getByKey(key);
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

  async #start(cron: CronJob, { job, replaced }: Run): Promise<Job | undefined> {
    await this.#control.deleteJobs(cron, replaced);
    return job === undefined ? undefined : this.#control.createJob(cron, job);
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
