/**
 * Taint eviction: pods that do not tolerate a NoExecute taint of their node are deleted, at once or
 * when their tolerationSeconds are over. A waiting eviction is cancelled when the taint or the pod is removed.
 * Evictions go at the pace of the recovery budget (`framework/eviction-line.ts`).
 *
 * Bounds one recorded start per waiting pod, dropped with the pod, the taint, or the toleration.
 */
import { given } from "#base/given.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source, type WatchOptions } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { EvictionLine } from "../framework/eviction-line.ts";
import { refs } from "../framework/refs.ts";
import { evictionInMs, evictionView, noExecute } from "./tolerance.ts";

export class TaintEvictionController implements ControllerOptions<Pod> {
  readonly name = "taint-eviction-controller";
  readonly workers = 8;
  readonly ref = refs.pods;
  readonly when: WatchOptions<Pod>;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #nodes: Informer<Node>;
  readonly #line: EvictionLine;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#line = new EvictionLine(deps);
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    const pods = deps.informers.informer<Pod>(refs.pods);
    pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
    this.when = { only: (pod) => this.#isConcerned(pod), changed: hasOtherView };
    const podsOf = (node: Node): readonly string[] =>
      pods.byIndex("controllers.nodeName", node.metadata?.name ?? "").map(keyOf);
    this.sources = [
      watch(this.#nodes, podsOf, { on: ["add", "update"], changed: hasOtherTaints }),
      this.#line.granted,
    ];
  }

  /** Whether the pod's node has NoExecute taints, which most nodes do not. */
  #isConcerned(pod: Pod): boolean {
    const node = this.#nodes.get("", pod.spec?.nodeName ?? "");
    const isTainted = node !== undefined && noExecute(node).length > 0;
    return isTainted || this.#line.isWaiting(keyOf(pod));
  }

  async reconcile({ key, object: pod }: ReconcileRequest<Pod>): Promise<ReconcileResult> {
    const node = this.#nodes.get("", pod?.spec?.nodeName ?? "");
    const isGoing = pod?.metadata?.deletionTimestamp !== undefined;
    if (pod === undefined || node === undefined || isGoing) return this.#line.leave(key);
    const sinceMs = this.#line.sinceMs(key, pod);
    const times = { nowMs: this.#deps.clock.nowMs(), sinceMs };
    const waitMs = evictionInMs(noExecute(node), pod.spec?.tolerations ?? [], times);
    if (waitMs === undefined) return this.#cancel(key, pod);
    this.#line.wait(key, pod, sinceMs);
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    if (this.#line.isGranted(key, pod.metadata?.namespace ?? "")) await this.#evict(key, pod);
  }

  /** The pod tolerates its node's taints indefinitely. */
  #cancel(key: string, pod: Pod): undefined {
    if (!this.#line.isWaiting(key)) return;
    this.#line.leave(key);
    const text = `Cancelling deletion of Pod ${key}`;
    this.#deps.recorder.event(pod, "Normal", "TaintManagerEviction", text);
  }

  async #evict(key: string, pod: Pod): Promise<undefined> {
    const text = `Marking for deletion Pod ${key}`;
    this.#deps.recorder.event(pod, "Normal", "TaintManagerEviction", text);
    const seen = given({ observedGeneration: pod.metadata?.generation });
    await this.#line.evict(pod, { ...disruption, ...seen });
    this.#line.leave(key);
  }
}

function hasOtherTaints(old: Node, node: Node): boolean {
  return !jsonEqual(noExecute(old), noExecute(node));
}

function hasOtherView(old: Pod, pod: Pod): boolean {
  return !jsonEqual(evictionView(old), evictionView(pod));
}

const disruption = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};
