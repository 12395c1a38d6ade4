/**
 * Groups the pods of an autoscaler by the use of their metrics (upstream's groupPods).
 *
 * ready     counts, with its metric
 * unready   pending, or CPU of a pod that has just started: left out, or counted as idle
 * missing   has no metric: counted so that it changes the result least
 * ignored   being deleted or failed: left out
 */
import type { Pod } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";
import { isGoing, podCondition } from "../pods/pod.ts";
import type { PodMetric, PodMetrics } from "./readings.ts";

export interface PodTimes {
  readonly nowMs: number;
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  readonly readyCount: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  readonly ignored: readonly string[];
}

/** Go's time.Time{}. */
const zeroTimeMs = -62_135_596_800_000;

type Group = "ready" | "unready" | "missing" | "ignored";

export function groupPods(
  pods: readonly Pod[],
  metrics: PodMetrics,
  resource: string,
  times: PodTimes,
): PodGroups {
  const names: Record<Group, string[]> = { ready: [], unready: [], missing: [], ignored: [] };
  for (const pod of pods) {
    const name = pod.metadata?.name ?? "";
    names[groupOf(pod, metrics.get(name), resource, times)].push(name);
  }
  const { ready, ...others } = names;
  return { readyCount: ready.length, ...others };
}

function groupOf(
  pod: Pod,
  metric: PodMetric | undefined,
  resource: string,
  times: PodTimes,
): Group {
  if (isGoing(pod) || pod.status?.phase === "Failed") return "ignored";
  if (pod.status?.phase === "Pending") return "unready";
  if (metric === undefined) return "missing";
  return resource === "cpu" && hasNoCpuYet(pod, metric, times) ? "unready" : "ready";
}

/** CPU usage during the start does not indicate load. */
function hasNoCpuYet(pod: Pod, metric: PodMetric, times: PodTimes): boolean {
  const condition = podCondition(pod, "Ready");
  const startMs = parseTime(pod.status?.startTime);
  if (condition === undefined || startMs === undefined) return true;
  const isUnready = condition.status === "False";
  // Go's zero time, for a condition without a time.
  const sinceMs = parseTime(condition.lastTransitionTime) ?? zeroTimeMs;
  if (startMs + times.cpuInitializationMs > times.nowMs)
    return isUnready || metric.timestampMs < sinceMs + metric.windowMs;
  // The pod has never been ready.
  return isUnready && startMs + times.initialReadinessMs > sinceMs;
}
