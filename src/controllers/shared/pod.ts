/** What controllers ask of a Pod, and how they make one from a template. */
import type { Pod, PodTemplateSpec } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";

/** Neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return (
    phase !== "Succeeded" && phase !== "Failed" && pod.metadata?.deletionTimestamp === undefined
  );
}

export function podCondition(
  pod: Pod,
  type: string,
): { readonly status: string; readonly lastTransitionTime?: string } | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

export function isReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/** Ready for at least `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  return isReady(pod) && availableInMs(pod, minReadySeconds, nowMs) <= 0;
}

/** How long until a ready pod counts as available; 0 or less when it does already. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number {
  if (minReadySeconds <= 0) return 0;
  const since = Date.parse(podCondition(pod, "Ready")?.lastTransitionTime ?? "");
  return Number.isNaN(since) ? minReadySeconds * 1000 : since + minReadySeconds * 1000 - nowMs;
}

/** A pod as the controller of `owner` creates it; the server adds defaults, name suffix and uid. */
export function podFromTemplate(
  template: PodTemplateSpec,
  options: {
    readonly namespace: string;
    /** Either, as the controller wants stable names or not. */
    readonly name?: string;
    readonly generateName?: string;
    readonly owner: OwnerReference;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  },
): Pod {
  const { namespace, name, generateName, owner } = options;
  const finalizers = [...(template.metadata?.finalizers ?? []), ...(options.finalizers ?? [])];
  const annotations = { ...template.metadata?.annotations, ...options.annotations };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      ...(name === undefined ? {} : { name }),
      ...(generateName === undefined ? {} : { generateName }),
      labels: { ...template.metadata?.labels, ...options.labels },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ownerReferences: [owner],
    },
    ...(template.spec === undefined ? {} : { spec: template.spec }),
  };
}

/**
 * Which pods go first when some must: not assigned before assigned, pending before running, not
 * ready before ready, cheaper deletion cost, more crowded node, younger readiness, more restarts,
 * younger age. After upstream's ActivePodsWithRanks.
 */
export function compareForDeletion(nowMs: number, crowd: (pod: Pod) => number) {
  const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
  const rank = (pod: Pod): readonly number[] => [
    pod.spec?.nodeName === undefined || pod.spec.nodeName === "" ? 0 : 1,
    phaseRank[pod.status?.phase ?? "Pending"] ?? 2,
    isReady(pod) ? 1 : 0,
    deletionCost(pod),
    -crowd(pod),
    isReady(pod) ? logAge(nowMs, podCondition(pod, "Ready")?.lastTransitionTime) : 0,
    -restarts(pod),
    logAge(nowMs, pod.metadata?.creationTimestamp),
  ];
  return (a: Pod, b: Pod): number => {
    const [rankA, rankB] = [rank(a), rank(b)];
    for (const [at, value] of rankA.entries()) {
      const difference = value - (rankB[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return (a.metadata?.uid ?? "") < (b.metadata?.uid ?? "") ? -1 : 1;
  };
}

function deletionCost(pod: Pod): number {
  const cost = Number(
    pod.metadata?.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? 0,
  );
  return Number.isInteger(cost) ? cost : 0;
}

/** Ages within a power of two are alike, so that a burst of equals is thinned at random (by uid). */
function logAge(nowMs: number, timestamp: string | undefined): number {
  const age = nowMs - Date.parse(timestamp ?? "");
  return Number.isNaN(age) ? 0 : Math.floor(Math.log2(Math.max(1, age / 1e-6)));
}

function restarts(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map((status) => status.restartCount));
}
