/** ttlSecondsAfterFinished: finished Jobs are deleted, with their pods, once their time is over. */
import type { Job } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";

export const ttlAfterFinishedRole: ControllerRole = {
  account: "ttl-after-finished-controller",
  rules: ["delete,get,list,watch | batch | jobs", "events"],
};

const workers = 5;

export class TtlAfterFinishedController implements Controller {
  readonly name = "ttl-after-finished-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #jobs: Informer<Job>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#jobs = deps.informers.informer<Job>(refs.jobs);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    const enqueue = (job: Job): void => {
      if (expiryMs(job) !== undefined) this.#loop.queue.add(keyOf(job));
    };
    this.#jobs.addHandler({ add: enqueue, update: (_old, job) => enqueue(job) });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const job = this.#jobs.getByKey(key);
    if (job === undefined) return undefined;
    const expiry = expiryMs(job);
    if (expiry === undefined) return undefined;
    const waitMs = expiry - this.#clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#deleteJob(job);
    return undefined;
  }

  /** The resourceVersion precondition fails when the ttl was changed meanwhile. */
  async #deleteJob(job: Job): Promise<void> {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = job.metadata ?? {};
    const preconditions = { uid, resourceVersion };
    const options = { propagationPolicy: "Foreground", preconditions } as const;
    await this.#client.delete(refs.jobs, namespace, name, options).catch(ignoreGone);
  }
}

/** When the Job may be deleted, pure; undefined: it is not finished, has no ttl, or is going already. */
function expiryMs(job: Job): number | undefined {
  const seconds = job.spec?.ttlSecondsAfterFinished;
  if (seconds === undefined || job.metadata?.deletionTimestamp !== undefined) return undefined;
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  const endMs = Date.parse(end?.lastTransitionTime ?? "");
  return Number.isNaN(endMs) ? undefined : endMs + seconds * 1000;
}
