/**
 * The pure part of ReplicaSet and ReplicationController: which pods to create or delete, and the
 * status. Both kinds keep N pods of one template; they differ in names and selector only.
 */
import type { Pod, PodTemplateSpec } from "#api/gen/types.ts";
import { labelsMatch, selectorFromMap } from "#api/selectors/label-selector.ts";
import { given } from "#base/given.ts";
import { compareForDeletion, isActive, isAvailable, isReady, isTerminating } from "../pods/pod.ts";
import { findCondition, withoutCondition, type Condition } from "#client/conditions.ts";

/** Upstream's BurstReplicas: maximum pods created or deleted per reconcile. */
export const burstReplicas = 500;

interface ReplicaPlan {
  /** Number of pods to create. */
  readonly create: number;
  /** Pods to delete, in upstream's order. */
  readonly remove: readonly Pod[];
}

/** `pods`: those controlled by the owner; `crowd`: number of sibling pods on a pod's node. */
export function planReplicas(
  pods: readonly Pod[],
  replicas: number,
  nowMs: number,
  crowd: (pod: Pod) => number,
): ReplicaPlan {
  const active = pods.filter(isActive);
  const missing = replicas - active.length;
  if (missing >= 0) return { create: Math.min(missing, burstReplicas), remove: [] };
  const order = replicas === 0 ? active : active.toSorted(compareForDeletion(nowMs, crowd));
  return { create: 0, remove: order.slice(0, Math.min(-missing, burstReplicas)) };
}

interface ReplicaStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

export interface Failure {
  readonly reason: "FailedCreate" | "FailedDelete";
  readonly message: string;
}

export interface StatusInput {
  readonly pods: readonly Pod[];
  readonly template: PodTemplateSpec | undefined;
  readonly minReadySeconds: number;
  readonly generation: number | undefined;
  readonly old: readonly Condition[] | undefined;
  /** Why pods could not be created or deleted; `unknown`: this reconcile did not try. */
  readonly failure: Failure | "none" | "unknown";
  /** False for ReplicationControllers, whose status has no terminatingReplicas. */
  readonly countsTerminating: boolean;
  readonly nowMs: number;
  readonly now: string;
}

/** As with upstream's omitempty, zero counters are omitted. */
export function replicaStatus(input: StatusInput): ReplicaStatus {
  const active = input.pods.filter(isActive);
  const labels = selectorFromMap(input.template?.metadata?.labels ?? {});
  const labelled = active.filter((pod) => labelsMatch(labels, pod.metadata?.labels)).length;
  const terminating = input.pods.filter(isTerminating).length;
  const ready = active.filter(isReady).length;
  const available = active.filter((pod) =>
    isAvailable(pod, input.minReadySeconds, input.nowMs),
  ).length;
  const conditions = replicaConditions(input);
  return {
    replicas: active.length,
    ...(labelled === 0 ? {} : { fullyLabeledReplicas: labelled }),
    ...(ready === 0 ? {} : { readyReplicas: ready }),
    ...(available === 0 ? {} : { availableReplicas: available }),
    ...(input.countsTerminating ? { terminatingReplicas: terminating } : {}),
    ...given({ observedGeneration: input.generation }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

/** A failure keeps its first message while it lasts, because messages contain random pod names. */
function replicaConditions({ failure, old, now }: StatusInput): readonly Condition[] {
  if (failure === "unknown") return old ?? [];
  if (failure === "none") return withoutCondition(old, "ReplicaFailure");
  if (findCondition(old, "ReplicaFailure") !== undefined) return old ?? [];
  const times = { lastTransitionTime: now };
  return [...(old ?? []), { type: "ReplicaFailure", status: "True", ...failure, ...times }];
}
