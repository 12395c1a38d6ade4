/** Computes how long a pod may stay on a node with NoExecute taints. Pure. */
import { clampToSafe } from "#api/go/go-integer.ts";
import type { Node, Pod, Taint, Toleration } from "#api/gen/types.ts";
import { tolerates } from "#api/selectors/node-match.ts";

export function noExecute(node: Node): readonly Taint[] {
  return (node.spec?.taints ?? []).filter((taint) => taint.effect === "NoExecute");
}

/**
 * Time until the pod must be deleted. Undefined: it tolerates all taints without limit. 0 or less: now. As in upstream,
 * the first toleration that covers a taint counts; its seconds start at the taint's timeAdded or, without one, at
 * `sinceMs`. The earliest time wins.
 */
export function evictionInMs(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  times: { readonly nowMs: number; readonly sinceMs: number },
): number | undefined {
  const waits = taints.map((taint) => {
    const covering = tolerations.find((toleration) => tolerates([toleration], taint));
    if (covering === undefined) return 0;
    const { tolerationSeconds } = covering;
    if (tolerationSeconds === undefined) return Number.POSITIVE_INFINITY;
    const added = Date.parse(taint.timeAdded ?? "");
    const startMs = Number.isNaN(added) ? times.sinceMs : added;
    return startMs + Math.max(0, clampToSafe(tolerationSeconds)) * 1000 - times.nowMs;
  });
  const soonest = Math.min(...waits);
  return Number.isFinite(soonest) ? soonest : undefined;
}

/** The fields of a pod that matter for eviction. */
export function evictionView(pod: Pod): unknown {
  return [pod.spec?.nodeName, pod.spec?.tolerations, pod.metadata?.deletionTimestamp];
}
