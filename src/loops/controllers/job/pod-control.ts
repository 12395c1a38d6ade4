/**
 * Carries out a Job's pod plan, and removes the tracking finalizer.
 *
 * Safe  a surplus pod loses the finalizer before it is deleted, so that it does not count as a failure. Patches and
 *       deletes name the uid, and each is expected.
 */
import type { Pod } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { callEach } from "../framework/call-each.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import { controllerReference } from "#client/owner.ts";
import { PodControl } from "../pods/pod-control.ts";
import { makeJobPod } from "./pod.ts";
import type { Outcome, PodPlan, Round } from "./round.ts";
import { isTracked, trackingFinalizer } from "./tracked.ts";

export const gvk = { group: "batch", version: "v1", kind: "Job" };

export class JobPodControl {
  readonly #client: Client;
  readonly #expectations: Expectations<Pod>;
  readonly #pods: PodControl;

  constructor(deps: ControllerDeps, expectations: Expectations<Pod>) {
    this.#client = deps.client;
    this.#expectations = expectations;
    this.#pods = new PodControl(deps, expectations);
  }

  /** A plan either deletes or creates pods, so there is only one first error. */
  async carryOut({ key, job }: Round, { end, drop, create }: PodPlan): Promise<Outcome> {
    const owner = { key, object: job };
    const deleted = new Set<Pod>();
    const deletePod = async (pod: Pod): Promise<void> => {
      await this.#pods.deletePod(owner, pod);
      deleted.add(pod);
    };
    const dropPod = async (pod: Pod): Promise<void> => {
      await this.releasePods(key, [pod].filter(isTracked));
      await deletePod(pod);
    };
    const endError = await callEach(end, deletePod);
    const dropError = await callEach(drop, dropPod);
    const reference = controllerReference(gvk, job);
    const pods = create.map((index) => makeJobPod(job, reference, index));
    const { succeeded, error } = await this.#pods.createPods(owner, pods);
    return { createdCount: succeeded, deleted, error: endError ?? dropError ?? error };
  }

  /** Removes the tracking finalizer; throws the first error after all pods were tried. */
  async releasePods(key: string, pods: readonly Pod[]): Promise<void> {
    const error = await callEach(pods, (pod) => this.#releasePod(key, pod));
    if (error !== undefined) throw error;
  }

  async #releasePod(key: string, pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const patch = {
      metadata: { uid, "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] },
    };
    try {
      const ref = refs.pods;
      const written = await this.#client.patch<Pod>(ref, namespace, name, "strategic", patch);
      this.#expectations.expectWrite(key, written);
    } catch (error) {
      if (!isGoneOrFinal(error)) throw error;
    }
  }
}

/** The pod is gone, was replaced, or cannot be changed, so nothing needs to be released. */
function isGoneOrFinal(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 404 || error.code === 422);
}
