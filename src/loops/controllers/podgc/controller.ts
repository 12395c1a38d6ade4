/**
 * Pod garbage collector: every 20 s, deletes pods that no kubelet will ever finish (garbage.ts).
 *
 * Safe  a node must be missing for a whole quarantine, and a live GET must confirm this, before its pods count as
 *       orphans (missing-nodes.ts). Deletes name the uid.
 */
import { given } from "#base/given.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import type { KeyOptions } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { once } from "#client/sources.ts";
import { isGone, textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { isFinished } from "../pods/pod.ts";
import { nodeOf, planGarbage, type PodGarbage } from "./garbage.ts";
import { MissingNodes } from "./missing-nodes.ts";

export const podGarbageCollectorRole: ControllerRole = {
  account: "pod-garbage-collector",
  rules: ["delete,list,watch | core | pods", "read | core | nodes", "patch | core | pods/status"],
};

const everyMs = 20_000;
/** Upstream's default. */
const terminatedDefault = 12_500;
/** Concurrent deletes. */
const deletesMax = 50;

export class PodGarbageCollector implements KeyOptions {
  readonly name = "pod-garbage-collector";
  readonly workers = 1;
  readonly sources = [once("all", everyMs)];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #missing: MissingNodes;
  readonly #terminatedMax: number;

  /** `terminatedMax`: maximum finished pods kept, --terminated-pod-gc-threshold; 0: unlimited. */
  constructor(deps: ControllerDeps, terminatedMax = terminatedDefault) {
    this.#deps = deps;
    this.#terminatedMax = terminatedMax;
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#missing = new MissingNodes(deps);
  }

  async reconcile(): Promise<ReconcileResult> {
    const pods = [...this.#pods.values()];
    const nodes = new Map(this.#nodes.list().map((node) => [node.metadata?.name ?? "", node]));
    const named = new Set(pods.map(nodeOf).filter((name) => name !== ""));
    const gone = await this.#missing.findGone(named.difference(nodes));
    const terminatedMax = this.#terminatedMax;
    await this.#removeAll(planGarbage({ pods, nodes, gone, terminatedMax }));
    return { requeueAfterMs: everyMs };
  }

  async #removeAll(garbage: readonly PodGarbage[]): Promise<void> {
    for (let at = 0; at < garbage.length; at += deletesMax) {
      const batch = garbage.slice(at, at + deletesMax);
      await Promise.all(batch.map((one) => this.#remove(one)));
    }
  }

  /** Marks a running pod as failed first, because no kubelet will report it. */
  async #remove({ pod, disruption }: PodGarbage): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    try {
      if (!isFinished(pod)) await this.#markFailed(pod, disruption);
      const options = { gracePeriodSeconds: 0, preconditions: { uid } };
      await this.#deps.client.delete(refs.pods, namespace, name, options);
    } catch (error) {
      if (!isGone(error))
        this.#deps.log.warn("cannot delete pod", { namespace, name, error: textOf(error) });
    }
  }

  async #markFailed(pod: Pod, why: PodGarbage["disruption"]): Promise<void> {
    const { namespace = "", name = "", uid, generation: observedGeneration } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(this.#deps.clock.nowMs());
    const seen = given({ observedGeneration });
    const target = {
      type: "DisruptionTarget",
      ...seen,
      status: "True",
      ...why,
      lastTransitionTime,
    };
    const conditions = why === undefined ? {} : { conditions: [target] };
    const patch = { metadata: { uid }, status: { phase: "Failed", ...conditions } };
    const options = { subresource: "status" };
    await this.#deps.client.patch(refs.pods, namespace, name, "strategic", patch, options);
  }
}
