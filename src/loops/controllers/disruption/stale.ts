/**
 * Pods with a stale condition DisruptionTarget: an eviction was granted, and their deletion has not
 * begun two minutes later. The condition becomes False.
 */
import type { Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import type { Client } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { isFinished, isGoing, podCondition } from "../pods/pod.ts";
import { disruptionTimeoutMs } from "./budget.ts";

/** Whether the condition may become stale, which one set by the kubelet cannot. */
export function isDisruptionTarget(pod: Pod): boolean {
  const target = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  const isOpen = target?.status === "True" && target.reason !== "TerminationByKubelet";
  return isOpen && !isGoing(pod) && !isFinished(pod);
}

export class StaleDisruptions {
  readonly #client: Client;
  readonly #clock: Clock;

  constructor({ client, clock }: Pick<ControllerDeps, "client" | "clock">) {
    this.#client = client;
    this.#clock = clock;
  }

  async reconcile(pod: Pod): Promise<ReconcileResult> {
    if (!isDisruptionTarget(pod)) return undefined;
    const since = Date.parse(podCondition(pod, "DisruptionTarget")?.lastTransitionTime ?? "");
    const sinceMs = Number.isNaN(since) ? 0 : since;
    const waitMs = sinceMs + disruptionTimeoutMs - this.#clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#clear(pod);
    return undefined;
  }

  async #clear(pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(this.#clock.nowMs());
    const conditions = [{ type: "DisruptionTarget", status: "False", lastTransitionTime }];
    const patch = { metadata: { uid }, status: { conditions } };
    const options = { subresource: "status" };
    try {
      await this.#client.patch(refs.pods, namespace, name, "strategic", patch, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
