/** ttlSecondsAfterFinished: finished Jobs are deleted, with their pods, after this time. */
import type { Job } from "#api/gen/types.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";

export const ttlAfterFinishedRole: ControllerRole = {
  account: "ttl-after-finished-controller",
  rules: ["delete,get,list,watch | batch | jobs", "events"],
};

export class TtlAfterFinishedController implements ControllerOptions<Job> {
  readonly name = "ttl-after-finished-controller";
  readonly workers = 5;
  readonly ref = refs.jobs;
  readonly when = { on: ["add", "update"], only: canExpire } as const;
  readonly #deps: ControllerDeps;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
  }

  async reconcile({ object: job }: ReconcileRequest<Job>): Promise<ReconcileResult> {
    const expiry = job && expiryMs(job);
    if (job === undefined || expiry === undefined) return undefined;
    const waitMs = expiry - this.#deps.clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    return this.#deleteJob(job);
  }

  /** The resourceVersion precondition fails if the ttl was changed concurrently. */
  async #deleteJob(job: Job): Promise<void> {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = job.metadata ?? {};
    const preconditions = { uid, resourceVersion };
    const options = { propagationPolicy: "Foreground", preconditions } as const;
    await this.#deps.client.delete(refs.jobs, namespace, name, options).catch(ignoreGone);
  }
}

function canExpire(job: Job): boolean {
  return expiryMs(job) !== undefined;
}

/** Time when the Job may be deleted; undefined: it is unfinished, has no ttl, or is being deleted. Pure. */
function expiryMs(job: Job): number | undefined {
  const seconds = job.spec?.ttlSecondsAfterFinished;
  if (seconds === undefined || job.metadata?.deletionTimestamp !== undefined) return undefined;
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  const endMs = Date.parse(end?.lastTransitionTime ?? "");
  return Number.isNaN(endMs) ? undefined : endMs + seconds * 1000;
}
