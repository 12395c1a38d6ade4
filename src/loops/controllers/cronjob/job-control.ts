/**
 * Creates and deletes the Jobs of a CronJob, with upstream's events.
 *
 * Safe  the name of a Job is derived from its scheduled time, so that AlreadyExists means the run has
 *       started; deletes name the uid.
 */
import type { CronJob, Job } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { keyOf } from "#client/indexer.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import { isGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";

export class JobControl {
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #expectations: Expectations<Job>;

  constructor(deps: ControllerDeps, expectations: Expectations<Job>) {
    this.#client = deps.client;
    this.#recorder = deps.recorder;
    this.#expectations = expectations;
  }

  /** @returns undefined when the Job exists already, or its namespace is terminating. */
  async createJob(cron: CronJob, job: Job): Promise<Job | undefined> {
    const { name = "", namespace = "" } = job.metadata ?? {};
    try {
      const made = await this.#client.create<Job>(refs.jobs, namespace, job);
      this.#expectations.expectWrite(keyOf(cron), made);
      this.#recorder.event(cron, "Normal", "SuccessfulCreate", `Created job ${name}`);
      return made;
    } catch (error) {
      if (isAlreadyExists(error) || isNamespaceGoing(error)) return undefined;
      const text = `Error creating job: ${textOf(error)}`;
      this.#recorder.event(cron, "Warning", "FailedCreate", text);
      throw error;
    }
  }

  async deleteJobs(cron: CronJob, jobs: readonly Job[]): Promise<void> {
    await Promise.all(jobs.map((job) => this.#deleteJob(cron, job)));
  }

  async #deleteJob(cron: CronJob, job: Job): Promise<void> {
    const { namespace = "", name = "", uid = "" } = job.metadata ?? {};
    const options = { propagationPolicy: "Background", preconditions: { uid } } as const;
    try {
      await this.#client.delete(refs.jobs, namespace, name, options);
      this.#recorder.event(cron, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    } catch (error) {
      if (isGone(error)) return;
      const text = `Deleted job: ${textOf(error)}`;
      this.#recorder.event(cron, "Warning", "FailedDelete", text);
      throw error;
    }
  }
}
