/**
 * TaintNodesByCondition: taints a new node as not ready, before any controller has seen it.
 * DefaultTolerationSeconds: lets a pod stay for five minutes on a node that is not ready or unreachable.
 */
import type { Node, Pod, Toleration } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, withSpec } from "./request.ts";

const notReady = "node.kubernetes.io/not-ready";
const unreachable = "node.kubernetes.io/unreachable";

/** Seconds that a pod without own tolerations stays on an unreachable or not ready node. */
export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

/** Upstream's default. */
const fiveMinutes: TolerationSeconds = { notReady: 300, unreachable: 300 };

export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  mutate(request: AdmissionRequest): AnyObject {
    const object = request.object ?? {};
    if (!isCore(request, "nodes") || request.operation !== "CREATE") return object;
    const taints = (object as Node).spec?.taints ?? [];
    if (taints.some((taint) => taint.key === notReady && taint.effect === "NoSchedule")) {
      return object;
    }
    return withSpec(object, { taints: [...taints, { key: notReady, effect: "NoSchedule" }] });
  },
};

export function defaultTolerationSeconds(
  seconds: TolerationSeconds = fiveMinutes,
): AdmissionPlugin {
  const byKey = [
    [notReady, seconds.notReady],
    [unreachable, seconds.unreachable],
  ] as const;
  return {
    name: "DefaultTolerationSeconds",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      const writes = request.operation === "CREATE" || request.operation === "UPDATE";
      if (!isCore(request, "pods") || !writes) return object;
      const tolerations = (object as Pod).spec?.tolerations ?? [];
      const missing = byKey.filter(([key]) => !tolerates(tolerations, key));
      if (missing.length === 0) return object;
      const added = missing.map(([key, tolerationSeconds]) => ({
        key,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds,
      }));
      return withSpec(object, { tolerations: [...tolerations, ...added] });
    },
  };
}

/** An empty key or effect matches all. */
function tolerates(tolerations: readonly Toleration[], key: string): boolean {
  return tolerations.some(
    (toleration) =>
      ["", key].includes(toleration.key ?? "") &&
      ["", "NoExecute"].includes(toleration.effect ?? ""),
  );
}
