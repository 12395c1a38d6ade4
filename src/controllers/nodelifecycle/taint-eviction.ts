/**
 * Taint eviction: pods that do not tolerate a NoExecute taint of their node are deleted, at once or
 * when their tolerationSeconds are over. A waiting eviction is cancelled when the taint or the pod is removed.
 *
 * Bounds one recorded start per waiting pod, dropped with the pod, the taint, or the toleration.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { isGone } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { evictionInMs, evictionView, noExecute } from "./tolerance.ts";

const workers = 8;

interface Waiting {
  readonly uid: string;
  readonly sinceMs: number;
}

// long: one closure holds the informers and the waiting pods that the small functions below share
export function taintEvictionController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const nodes = informers.informer<Node>(refs.nodes);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
  /** By pod key: when it was first seen to be on borrowed time. */
  const waiting = new Map<string, Waiting>();
  const options = { name: "taint-eviction-controller", workers };
  const controller = queueController(deps, options, reconcile);
  const { queue } = controller;
  nodes.addHandler({
    add: wakeNode,
    update(old, node) {
      if (!jsonEqual(noExecute(old), noExecute(node))) wakeNode(node);
    },
  });
  pods.addHandler({
    add: wakePod,
    update(old, pod) {
      if (!jsonEqual(evictionView(old), evictionView(pod))) wakePod(pod);
    },
    delete: (pod) => void waiting.delete(keyOf(pod)),
  });
  return controller;

  function wakeNode(node: Node): void {
    for (const pod of pods.byIndex("controllers.nodeName", node.metadata?.name ?? ""))
      queue.add(keyOf(pod));
  }

  function wakePod(pod: Pod): void {
    const node = nodes.get("", pod.spec?.nodeName ?? "");
    const concerned = node !== undefined && noExecute(node).length > 0;
    if (concerned || waiting.has(keyOf(pod))) queue.add(keyOf(pod));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const pod = pods.getByKey(key);
    const node = nodes.get("", pod?.spec?.nodeName ?? "");
    const going = pod?.metadata?.deletionTimestamp !== undefined;
    if (pod === undefined || node === undefined || going) return forget(key, undefined);
    const uid = pod.metadata?.uid ?? "";
    const nowMs = clock.nowMs();
    const known = waiting.get(key);
    const sinceMs = known?.uid === uid ? known.sinceMs : nowMs;
    const tolerations = pod.spec?.tolerations ?? [];
    const waitMs = evictionInMs(noExecute(node), tolerations, { nowMs, sinceMs });
    if (waitMs === undefined) return forget(key, pod);
    if (waitMs <= 0) {
      waiting.delete(key);
      return evict(pod);
    }
    waiting.set(key, { uid, sinceMs });
    return { requeueAfterMs: waitMs };
  }

  /** It may stay after all, or is gone. */
  function forget(key: string, pod: Pod | undefined): undefined {
    if (!waiting.delete(key) || pod === undefined) return;
    const text = `Cancelling deletion of Pod ${key}`;
    deps.recorder.event(pod, "Normal", "TaintManagerEviction", text);
  }

  async function evict(pod: Pod): Promise<undefined> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    const text = `Marking for deletion Pod ${namespace}/${name}`;
    deps.recorder.event(pod, "Normal", "TaintManagerEviction", text);
    const target = {
      type: "DisruptionTarget",
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
      lastTransitionTime: formatTime(clock.nowMs()),
    };
    try {
      const patch = { metadata: { uid }, status: { conditions: [target] } };
      const status = { subresource: "status" };
      await client.patch(refs.pods, namespace, name, "strategic", patch, status);
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}
