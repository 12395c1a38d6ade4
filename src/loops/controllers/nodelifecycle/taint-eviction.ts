/**
 * Taint eviction: pods that do not tolerate a NoExecute taint of their node are deleted, at once or
 * when their tolerationSeconds are over. A waiting eviction is cancelled when the taint or the pod is removed.
 *
 * Bounds one recorded start per waiting pod, dropped with the pod, the taint, or the toleration.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informer } from "#client/informer.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
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
import { jsonEqual } from "#api/json-value.ts";
import { refs } from "../framework/refs.ts";
import { evictionInMs, evictionView, noExecute } from "./tolerance.ts";

const workers = 8;

interface Waiting {
  readonly uid: string;
  readonly sinceMs: number;
}

export class TaintEvictionController implements Controller {
  readonly name = "taint-eviction-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  /** By pod key: when its toleration was first seen to be limited in time. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { name } = this;
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#recorder = deps.recorder;
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandlers(): void {
    this.#nodes.addHandler({
      add: (node) => this.#enqueuePodsOf(node),
      update: (old, node) => {
        if (!jsonEqual(noExecute(old), noExecute(node))) this.#enqueuePodsOf(node);
      },
    });
    this.#pods.addHandler({
      add: (pod) => this.#enqueue(pod),
      update: (old, pod) => {
        if (!jsonEqual(evictionView(old), evictionView(pod))) this.#enqueue(pod);
      },
      delete: (pod) => void this.#waiting.delete(keyOf(pod)),
    });
  }

  #enqueuePodsOf(node: Node): void {
    const pods = this.#pods.byIndex("controllers.nodeName", node.metadata?.name ?? "");
    for (const pod of pods) this.#loop.queue.add(keyOf(pod));
  }

  /** Most pods are on nodes without NoExecute taints. */
  #enqueue(pod: Pod): void {
    const node = this.#nodes.get("", pod.spec?.nodeName ?? "");
    const isTainted = node !== undefined && noExecute(node).length > 0;
    if (isTainted || this.#waiting.has(keyOf(pod))) this.#loop.queue.add(keyOf(pod));
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const pod = this.#pods.getByKey(key);
    const node = this.#nodes.get("", pod?.spec?.nodeName ?? "");
    const isGoing = pod?.metadata?.deletionTimestamp !== undefined;
    if (pod === undefined || node === undefined || isGoing) return void this.#waiting.delete(key);
    const waiting = this.#findWaiting(key, pod);
    const times = { nowMs: this.#clock.nowMs(), sinceMs: waiting.sinceMs };
    const waitMs = evictionInMs(noExecute(node), pod.spec?.tolerations ?? [], times);
    if (waitMs === undefined) return this.#cancel(key, pod);
    if (waitMs <= 0) return this.#evict(key, pod);
    this.#waiting.set(key, waiting);
    return { requeueAfterMs: waitMs };
  }

  /** As recorded, or from now on for a pod that was not waiting yet. */
  #findWaiting(key: string, pod: Pod): Waiting {
    const uid = pod.metadata?.uid ?? "";
    const known = this.#waiting.get(key);
    return known?.uid === uid ? known : { uid, sinceMs: this.#clock.nowMs() };
  }

  /** The pod tolerates its node's taints for good. */
  #cancel(key: string, pod: Pod): undefined {
    if (!this.#waiting.delete(key)) return;
    const text = `Cancelling deletion of Pod ${key}`;
    this.#recorder.event(pod, "Normal", "TaintManagerEviction", text);
  }

  async #evict(key: string, pod: Pod): Promise<undefined> {
    this.#waiting.delete(key);
    const text = `Marking for deletion Pod ${key}`;
    this.#recorder.event(pod, "Normal", "TaintManagerEviction", text);
    await this.#deletePod(pod).catch(ignoreGone);
  }

  async #deletePod(pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "", generation } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(this.#clock.nowMs());
    const seen = generation === undefined ? {} : { observedGeneration: generation };
    const conditions = [{ ...disruptionTarget, ...seen, lastTransitionTime }];
    const patch = { metadata: { uid }, status: { conditions } };
    const status = { subresource: "status" };
    await this.#client.patch(refs.pods, namespace, name, "strategic", patch, status);
    await this.#client.delete(refs.pods, namespace, name, { preconditions: { uid } });
  }
}

const disruptionTarget = {
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};
