/**
 * Taint eviction: pods that do not tolerate a NoExecute taint of their node are deleted, at once or
 * when their tolerationSeconds are over. Waiting pods whose taint goes, or who are gone, are let be.
 */
import type { Node, Pod, Taint, Toleration } from "#api/gen/types.ts";
import { tolerates } from "#api/node-match.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes, keyOf } from "#client/local-store.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { withCondition } from "../shared/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { refs } from "../shared/refs.ts";

const workers = 8;

export function taintEvictionController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const nodes = informers.informer<Node>(refs.nodes);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
  const controller = queueController(
    deps,
    { name: "taint-eviction-controller", workers },
    reconcile,
  );
  const { queue } = controller;
  nodes.addHandler({
    add: wakeNode,
    update: (old, node) => void (jsonEqual(old.spec?.taints, node.spec?.taints) || wakeNode(node)),
  });
  pods.addHandler({
    add: wakePod,
    update: (old, pod) => void (old.spec?.nodeName !== pod.spec?.nodeName && wakePod(pod)),
  });
  return controller;

  function wakeNode(node: Node): void {
    for (const pod of pods.byIndex("controllers.nodeName", node.metadata?.name ?? ""))
      queue.add(keyOf(pod));
  }

  function wakePod(pod: Pod): void {
    const node = nodes.get("", pod.spec?.nodeName ?? "");
    if (node !== undefined && noExecute(node).length > 0) queue.add(keyOf(pod));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const pod = pods.getByKey(key);
    const node = nodes.get("", pod?.spec?.nodeName ?? "");
    if (pod === undefined || node === undefined || pod.metadata?.deletionTimestamp !== undefined)
      return undefined;
    const waitMs = evictionInMs(noExecute(node), pod.spec?.tolerations ?? [], clock.nowMs());
    if (waitMs === undefined) return undefined;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await evict(pod);
    return undefined;
  }

  async function evict(pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    deps.recorder.event(
      pod,
      "Normal",
      "TaintManagerEviction",
      `Marking for deletion Pod ${namespace}/${name}`,
    );
    const conditions = withCondition(pod.status?.conditions, {
      type: "DisruptionTarget",
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
      lastTransitionTime: formatTime(clock.nowMs()),
    });
    try {
      const patch = { metadata: { uid }, status: { conditions } };
      await client.patch(refs.pods, namespace, name, "merge", patch, { subresource: "status" });
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
    }
  }
}

function noExecute(node: Node): readonly Taint[] {
  return (node.spec?.taints ?? []).filter((taint) => taint.effect === "NoExecute");
}

/**
 * Until the pod must go: undefined when it tolerates all for good, 0 or less when it must go now.
 * Each taint counts from its own timeAdded; the soonest wins.
 */
export function evictionInMs(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  nowMs: number,
): number | undefined {
  const waits = taints.flatMap((taint) => {
    const matching = tolerations.filter((toleration) => tolerates([toleration], taint));
    if (matching.length === 0) return [0];
    const seconds = matching.flatMap((toleration) => toleration.tolerationSeconds ?? []);
    if (seconds.length === 0) return [];
    const added = Date.parse(taint.timeAdded ?? "");
    return [
      (Number.isNaN(added) ? nowMs : added) + Math.max(0, Math.min(...seconds)) * 1000 - nowMs,
    ];
  });
  return waits.length === 0 ? undefined : Math.min(...waits);
}
