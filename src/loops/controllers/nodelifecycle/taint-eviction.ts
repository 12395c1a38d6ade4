/**
 * Taint eviction: deletes pods that do not tolerate a NoExecute taint of their node, at once or after their
 * tolerationSeconds. A waiting eviction is cancelled when the taint or the pod is removed.
 *
 *   due ─► asks the recovery budget ─► granted at once ─► evicted
 *                                  └─► in line, no worker held ─► granted: the key comes again ─► evicted
 *
 * Bounds one recorded start per waiting pod, one place in line per due pod, dropped with the pod, the taint, or the
 *        toleration.
 */
import { given } from "#base/given.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { formatTime } from "#api/values/time.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { grantedWrite } from "#client/budgeted-client.ts";
import type { RecoveryBudget } from "#client/recovery-budget.ts";
import { KeySource, watch, type Source, type WatchOptions } from "#client/sources.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { evictionInMs, evictionView, noExecute } from "./tolerance.ts";

interface Waiting {
  readonly uid: string;
  readonly sinceMs: number;
}

/** The place of a due pod in the queue of the recovery budget. */
interface Place {
  readonly leave: AbortController;
  state: "in line" | "granted" | "used";
}

export class TaintEvictionController implements ControllerOptions<Pod> {
  readonly name = "taint-eviction-controller";
  readonly workers = 8;
  readonly ref = refs.pods;
  readonly when: WatchOptions<Pod>;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #nodes: Informer<Node>;
  /** By pod key: when a limited toleration was first seen. */
  readonly #waiting = new Map<string, Waiting>();
  /** By pod key. */
  readonly #places = new Map<string, Place>();
  readonly #granted = new KeySource();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    const pods = deps.informers.informer<Pod>(refs.pods);
    pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
    this.when = { only: (pod) => this.#isConcerned(pod), changed: hasOtherView };
    const podsOf = (node: Node): readonly string[] =>
      pods.byIndex("controllers.nodeName", node.metadata?.name ?? "").map(keyOf);
    this.sources = [
      watch(this.#nodes, podsOf, { on: ["add", "update"], changed: hasOtherTaints }),
      this.#granted,
    ];
  }

  /** Whether the pod's node has NoExecute taints, which most nodes do not. */
  #isConcerned(pod: Pod): boolean {
    const node = this.#nodes.get("", pod.spec?.nodeName ?? "");
    const isTainted = node !== undefined && noExecute(node).length > 0;
    return isTainted || this.#waiting.has(keyOf(pod));
  }

  async reconcile({ key, object: pod }: ReconcileRequest<Pod>): Promise<ReconcileResult> {
    const node = this.#nodes.get("", pod?.spec?.nodeName ?? "");
    const isGoing = pod?.metadata?.deletionTimestamp !== undefined;
    if (pod === undefined || node === undefined || isGoing) return this.#drop(key);
    const waiting = this.#findWaiting(key, pod);
    const times = { nowMs: this.#deps.clock.nowMs(), sinceMs: waiting.sinceMs };
    const waitMs = evictionInMs(noExecute(node), pod.spec?.tolerations ?? [], times);
    if (waitMs === undefined) return this.#cancel(key, pod);
    this.#waiting.set(key, waiting);
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    if (this.#isGranted(key, pod.metadata?.namespace ?? "")) await this.#evict(key, pod);
  }

  #drop(key: string): undefined {
    this.#waiting.delete(key);
    const place = this.#places.get(key);
    this.#places.delete(key);
    if (place?.state === "granted") this.#deps.recovery?.unused("evict");
    else place?.leave.abort();
  }

  /** False: the pod is queued, and its key is added again when granted. The next eviction uses the grant. */
  #isGranted(key: string, namespace: string): boolean {
    const { recovery } = this.#deps;
    if (recovery === undefined) return true;
    const place = this.#places.get(key);
    if (place === undefined || place.state === "used")
      return this.#enterLine(recovery, key, namespace);
    if (place.state === "in line") return false;
    place.state = "used";
    return true;
  }

  #enterLine(recovery: RecoveryBudget, key: string, namespace: string): boolean {
    const place: Place = { leave: new AbortController(), state: "in line" };
    const grant = recovery.take("evict", namespace, place.leave.signal);
    if (grant === undefined) return true;
    this.#places.set(key, place);
    void grant.then((isGranted) => {
      if (!isGranted) return;
      if (place.leave.signal.aborted) return recovery.unused("evict");
      place.state = "granted";
      this.#granted.add(key);
    });
    return false;
  }

  /** The recorded time, or now for a pod that was not waiting yet. */
  #findWaiting(key: string, pod: Pod): Waiting {
    const uid = pod.metadata?.uid ?? "";
    const known = this.#waiting.get(key);
    return known?.uid === uid ? known : { uid, sinceMs: this.#deps.clock.nowMs() };
  }

  /** The pod tolerates its node's taints indefinitely. */
  #cancel(key: string, pod: Pod): undefined {
    if (!this.#waiting.has(key)) return;
    this.#drop(key);
    const text = `Cancelling deletion of Pod ${key}`;
    this.#deps.recorder.event(pod, "Normal", "TaintManagerEviction", text);
  }

  async #evict(key: string, pod: Pod): Promise<undefined> {
    const text = `Marking for deletion Pod ${key}`;
    this.#deps.recorder.event(pod, "Normal", "TaintManagerEviction", text);
    const { recovery: budget, clock } = this.#deps;
    const evict = (): Promise<void> => this.#deletePod(pod).catch(ignoreGone);
    await (budget === undefined ? evict() : grantedWrite({ budget, clock }, "evict", evict));
    this.#drop(key);
  }

  async #deletePod(pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "", generation } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(this.#deps.clock.nowMs());
    const seen = given({ observedGeneration: generation });
    const conditions = [{ ...disruptionTarget, ...seen, lastTransitionTime }];
    const patch = { metadata: { uid }, status: { conditions } };
    const status = { subresource: "status" };
    await this.#deps.client.patch(refs.pods, namespace, name, "strategic", patch, status);
    await this.#deps.client.delete(refs.pods, namespace, name, { preconditions: { uid } });
  }
}

function hasOtherTaints(old: Node, node: Node): boolean {
  return !jsonEqual(noExecute(old), noExecute(node));
}

function hasOtherView(old: Pod, pod: Pod): boolean {
  return !jsonEqual(evictionView(old), evictionView(pod));
}

const disruptionTarget = {
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};
