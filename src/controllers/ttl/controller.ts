/** ttlSecondsAfterFinished: finished Jobs are deleted, with their pods, once their time is over. */
import type { Job } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";

const workers = 5;

export function ttlAfterFinishedController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const jobs = informers.informer<Job>(refs.jobs);
  const controller = queueController(
    deps,
    { name: "ttl-after-finished-controller", workers },
    reconcile,
  );
  const wake = (job: Job): void => {
    if (expiryMs(job) !== undefined) controller.queue.add(keyOf(job));
  };
  jobs.addHandler({ add: wake, update: (_old, job) => wake(job) });
  return controller;

  async function reconcile(key: string): Promise<ReconcileResult> {
    const cached = jobs.getByKey(key);
    const expiry = cached === undefined ? undefined : expiryMs(cached);
    if (expiry === undefined) return undefined;
    if (expiry > clock.nowMs()) return { requeueAfterMs: expiry - clock.nowMs() };
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = cached?.metadata ?? {};
    try {
      // The resourceVersion precondition fails when the ttl was changed meanwhile.
      const preconditions = { uid, resourceVersion };
      await client.delete(refs.jobs, namespace, name, {
        propagationPolicy: "Foreground",
        preconditions,
      });
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
    }
    return undefined;
  }
}

function expiryMs(job: Job): number | undefined {
  const seconds = job.spec?.ttlSecondsAfterFinished;
  if (seconds === undefined || job.metadata?.deletionTimestamp !== undefined) return undefined;
  const end = job.status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  const endMs = Date.parse(end?.lastTransitionTime ?? "");
  return Number.isNaN(endMs) ? undefined : endMs + seconds * 1000;
}
