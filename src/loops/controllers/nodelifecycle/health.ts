/** Computes a node's conditions and taints. Pure. */
import type { Node, NodeCondition, Taint } from "#api/gen/types.ts";

export const notReadyKey = "node.kubernetes.io/not-ready";
export const unreachableKey = "node.kubernetes.io/unreachable";

/** Conditions maintained by the kubelet; all become Unknown when it is silent. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** `unheard`: its kubelet has not posted a status yet, and still has time to do so. */
export type Readiness = "ready" | "not-ready" | "unknown" | "unheard";

export function readinessOf(node: Node): Readiness {
  const ready = conditionOf(node, "Ready");
  if (ready === undefined) return "unheard";
  if (ready.status === "True") return "ready";
  return ready.status === "False" ? "not-ready" : "unknown";
}

export function conditionOf(node: Node, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** `region:\0:zone` as in upstream's GetZoneKey; nodes without labels share one zone. */
export function zoneOf(node: Node): string {
  const labels = node.metadata?.labels ?? {};
  const region = labels["topology.kubernetes.io/region"] ?? "";
  return `${region}:\0:${labels["topology.kubernetes.io/zone"] ?? ""}`;
}

/** Whether the node has a region or zone. */
export function namesZone({ metadata: { labels = {} } = {} }: Node): boolean {
  return ["region", "zone"].some((part) => (labels[`topology.kubernetes.io/${part}`] ?? "") !== "");
}

/** The conditions of a node that was silent for too long; order and other conditions are kept. */
export function silentConditions(node: Node, now: string): readonly NodeCondition[] {
  const all = node.status?.conditions ?? [];
  const silenced = all.map((condition) => {
    const ours = kubeletConditions.includes(condition.type) && condition.status !== "Unknown";
    return ours ? { ...condition, ...stopped, lastTransitionTime: now } : condition;
  });
  const known = new Set(all.map(({ type }) => type));
  const created = node.metadata?.creationTimestamp ?? now;
  const times = { lastHeartbeatTime: created, lastTransitionTime: now };
  const missing = kubeletConditions.filter((type) => !known.has(type));
  return [...silenced, ...missing.map((type) => ({ type, ...never, ...times }))];
}

const stopped = {
  status: "Unknown",
  reason: "NodeStatusUnknown",
  message: "Kubelet stopped posting node status.",
};
const never = {
  status: "Unknown",
  reason: "NodeStatusNeverUpdated",
  message: "Kubelet never posted node status.",
};

const pressureTaints: readonly (readonly [string, string])[] = [
  ["MemoryPressure", "node.kubernetes.io/memory-pressure"],
  ["DiskPressure", "node.kubernetes.io/disk-pressure"],
  ["PIDPressure", "node.kubernetes.io/pid-pressure"],
  ["NetworkUnavailable", "node.kubernetes.io/network-unavailable"],
];
const unschedulableKey = "node.kubernetes.io/unschedulable";

/** The NoSchedule taints for conditions and spec.unschedulable; other taints are kept. */
export function conditionTaints(node: Node, now: string): readonly Taint[] {
  const wanted = new Set<string>();
  const readiness = readinessOf(node);
  if (readiness === "not-ready") wanted.add(notReadyKey);
  if (readiness === "unknown") wanted.add(unreachableKey);
  for (const [type, key] of pressureTaints)
    if (conditionOf(node, type)?.status === "True") wanted.add(key);
  if (node.spec?.unschedulable === true) wanted.add(unschedulableKey);
  const managed = new Set([
    notReadyKey,
    unreachableKey,
    unschedulableKey,
    ...pressureTaints.map(([, key]) => key),
  ]);
  return withTaints(node.spec?.taints ?? [], "NoSchedule", managed, wanted, now);
}

/** All taints of the node; `evictionKey` as in `evictionTaints`. */
export function planTaints(
  node: Node,
  evictionKey: string | undefined,
  now: string,
): readonly Taint[] {
  const spec = { ...node.spec, taints: conditionTaints(node, now) };
  return evictionTaints({ ...node, spec }, evictionKey, now);
}

/** The NoExecute taint of a failed node; none when `key` is undefined. */
export function evictionTaints(node: Node, key: string | undefined, now: string): readonly Taint[] {
  const wanted = new Set(key === undefined ? [] : [key]);
  return withTaints(
    node.spec?.taints ?? [],
    "NoExecute",
    new Set([notReadyKey, unreachableKey]),
    wanted,
    now,
  );
}

export function evictionKeyOf(node: Node): string | undefined {
  const readiness = readinessOf(node);
  if (readiness === "not-ready") return notReadyKey;
  return readiness === "unknown" ? unreachableKey : undefined;
}

/** Whether it already has a NoExecute taint, which another reason then replaces immediately. */
export function isGivenUp(node: Node): boolean {
  return (node.spec?.taints ?? []).some(
    ({ effect, key }) => effect === "NoExecute" && [notReadyKey, unreachableKey].includes(key),
  );
}

/** Whether the node is excluded from the health of its zone. */
export function isExcludedFromZones(node: Node): boolean {
  return node.metadata?.labels?.["node.kubernetes.io/exclude-disruption"] !== undefined;
}

function withTaints(
  taints: readonly Taint[],
  effect: string,
  managed: ReadonlySet<string>,
  wanted: ReadonlySet<string>,
  now: string,
): readonly Taint[] {
  const kept = taints.filter(
    (taint) => taint.effect !== effect || !managed.has(taint.key) || wanted.has(taint.key),
  );
  const missing = [...wanted].filter(
    (key) => !taints.some((taint) => taint.key === key && taint.effect === effect),
  );
  return [...kept, ...missing.map((key): Taint => ({ key, effect, timeAdded: now }))];
}
