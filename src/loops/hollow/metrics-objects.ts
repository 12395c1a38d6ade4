/** PodMetrics and NodeMetrics of metrics.k8s.io/v1beta1 for hollow pods and nodes, as metrics-server makes them; pure. */
import type { Node, Pod } from "#api/gen/types.ts";
import type { JsonObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import { hollowMark } from "./node-object.ts";
import type { UsageRule } from "./usage-rules.ts";
import { podUsage, sumOfUsage, usageTexts } from "./usage.ts";

const apiVersion = "metrics.k8s.io/v1beta1";
/** Nominal averaging window, metrics-server's resolution; the usage here is the present one. */
const window = "15s";

export function isHollow(node: Node): boolean {
  return node.metadata?.labels?.[hollowMark] === "true";
}

/** Undefined: no container of the pod runs. */
export function podMetrics(
  pod: Pod,
  nowMs: number,
  rules: readonly UsageRule[] = [],
): JsonObject | undefined {
  const containers = podUsage(pod, rules);
  if (containers.length === 0) return undefined;
  const { name = "", namespace = "", labels } = pod.metadata ?? {};
  const now = formatTime(nowMs);
  return {
    kind: "PodMetrics",
    apiVersion,
    metadata: { name, namespace, creationTimestamp: now, ...(labels && { labels }) },
    timestamp: now,
    window,
    containers: containers.map(({ name: container, ...usage }) => ({
      name: container,
      usage: usageTexts(usage),
    })),
  };
}

/** `pods`: the pods that are bound to the node. */
export function nodeMetrics(
  node: Node,
  pods: readonly Pod[],
  nowMs: number,
  rules: readonly UsageRule[] = [],
): JsonObject {
  const { name = "", labels } = node.metadata ?? {};
  const now = formatTime(nowMs);
  return {
    kind: "NodeMetrics",
    apiVersion,
    metadata: { name, creationTimestamp: now, ...(labels && { labels }) },
    timestamp: now,
    window,
    usage: usageTexts(sumOfUsage(pods.flatMap((pod) => podUsage(pod, rules)))),
  };
}

export function metricsList(
  kind: "PodMetricsList" | "NodeMetricsList",
  items: readonly JsonObject[],
) {
  return { kind, apiVersion, metadata: {}, items };
}
