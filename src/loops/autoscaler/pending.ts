/** Selects the Pods without a node that may cause a new node: those that the scheduler gave up on for now. */
import type { Pod } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { AutoscalerOptions } from "./options.ts";

const delayAnnotation = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay";

interface Waiting {
  /** Pods that may cause a new node. */
  readonly pods: readonly PodInfo[];
  /** Pods nominated to a node, where other Pods make room for them. */
  readonly nominated: readonly PodInfo[];
}

export function waitingPods(
  pending: readonly PodInfo[],
  nowMs: number,
  options: AutoscalerOptions,
): Waiting {
  const pods: PodInfo[] = [];
  const nominated: PodInfo[] = [];
  for (const info of pending) {
    const { pod, priority } = info;
    if ((pod.status?.nominatedNodeName ?? "") !== "") nominated.push(info);
    else if (priority < options.expendablePodsPriorityCutoff || isDaemon(pod)) continue;
    else if (isUnschedulable(pod) && isOldEnough(pod, nowMs, options)) pods.push(info);
  }
  return { pods, nominated };
}

export function isDaemon({ metadata }: Pod): boolean {
  return (
    metadata?.ownerReferences?.some(({ kind, controller }) => {
      return controller === true && kind === "DaemonSet";
    }) === true
  );
}

function isUnschedulable({ status }: Pod): boolean {
  return (
    status?.conditions?.some(
      ({ type, status: is, reason }) =>
        type === "PodScheduled" && is === "False" && reason === "Unschedulable",
    ) === true
  );
}

/** A Pod may request a longer delay than the configured one, but not a shorter one. */
function isOldEnough({ metadata }: Pod, nowMs: number, options: AutoscalerOptions): boolean {
  const own = Number(/^(\d{1,6})s$/.exec(metadata?.annotations?.[delayAnnotation] ?? "")?.[1] ?? 0);
  const delayMs = Math.max(options.newPodScaleUpDelayMs, own * 1_000);
  if (delayMs === 0) return true;
  return nowMs - (parseTime(metadata?.creationTimestamp ?? "") ?? nowMs) >= delayMs;
}
