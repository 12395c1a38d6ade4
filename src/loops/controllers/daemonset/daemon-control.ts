/**
 * Carries out a DaemonSet's plan: creates pods pinned to their nodes and deletes pods, with events.
 *
 * Holds  the backoff of failed pods, by DaemonSet, generation and node.
 * Bounds `burst` creates and `burst` deletes per reconcile.
 */
import type { DaemonSet, Pod } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import type { EventRecorder } from "#client/events.ts";
import { keyOf } from "#client/indexer.ts";
import type { Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import type { Expectations } from "#client/expectations.ts";
import { slowStart } from "../framework/slow-start.ts";
import { controllerReference } from "#client/owner.ts";
import { podFromTemplate } from "../pods/pod.ts";
import { PodControl } from "../pods/pod-control.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import { FailedPodBackoff } from "./backoff.ts";
import { targetNode, templateFor } from "./eligible.ts";
import type { DaemonPlan } from "./plan.ts";
import type { Round } from "./round.ts";

export const gvk = { group: "apps", version: "v1", kind: "DaemonSet" };
/** Upstream's BurstReplicas. */
const burst = 250;
const templateGeneration = "deprecated.daemonset.template.generation";

export class DaemonControl {
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  readonly #pods: PodControl;
  readonly #backoff = new FailedPodBackoff();

  constructor(deps: ControllerDeps, expectations: Expectations<Pod>) {
    this.#clock = deps.clock;
    this.#recorder = deps.recorder;
    this.#pods = new PodControl(deps, expectations);
  }

  /** Time until a failed pod may be deleted; 0: now. */
  waitMs(set: DaemonSet, pod: Pod): number {
    return this.#backoff.waitMs(backoffKey(set, pod), this.#clock.monotonicMs());
  }

  forget(set: DaemonSet): void {
    this.#backoff.forget(set.metadata?.uid ?? "");
  }

  /** @returns the first error of the creates, or else of the deletes. */
  async carryOut(round: Round, plan: DaemonPlan): Promise<unknown> {
    const { key, set, hash } = round;
    for (const pod of plan.failed) this.#noteFailed(set, pod);
    for (const pod of plan.succeeded) this.#noteSucceeded(set, pod);
    const owner = { key, object: set };
    const pods = plan.create.slice(0, burst).map((node) => makeDaemonPod(set, hash, node));
    const removals = [...plan.remove, ...plan.failed, ...plan.succeeded].slice(0, burst);
    const created = await this.#pods.createPods(owner, pods);
    const removed = await slowStart(removals, (pod) => this.#pods.deletePod(owner, pod));
    return created.error ?? removed.error;
  }

  #noteFailed(set: DaemonSet, pod: Pod): void {
    this.#backoff.deleted(backoffKey(set, pod), this.#clock.monotonicMs());
    const text = `Found failed daemon pod ${keyOf(pod)} on node ${targetNode(pod)}, will try to kill it`;
    this.#recorder.event(set, "Warning", "FailedDaemonPod", text);
  }

  #noteSucceeded(set: DaemonSet, pod: Pod): void {
    const text = `Found succeeded daemon pod ${keyOf(pod)} on node ${targetNode(pod)}, will try to delete it`;
    this.#recorder.event(set, "Normal", "SucceededDaemonPod", text);
  }
}

function backoffKey(set: DaemonSet, pod: Pod): string {
  return `${set.metadata?.uid ?? ""}/${set.metadata?.generation ?? 0}/${targetNode(pod)}`;
}

function makeDaemonPod(set: DaemonSet, hash: string, node: string): Pod {
  const generation = set.metadata?.annotations?.[templateGeneration];
  return podFromTemplate(templateFor(set.spec?.template ?? {}, node), {
    namespace: set.metadata?.namespace ?? "",
    generateName: `${set.metadata?.name ?? ""}-`,
    owner: controllerReference(gvk, set),
    labels: {
      [revisionHashLabel]: hash,
      ...given({ "pod-template-generation": generation }),
    },
  });
}
