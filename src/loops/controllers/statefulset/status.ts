/** Computes the status of a StatefulSet. Pure. */
import type { StatefulSetStatus } from "#api/gen/types.ts";
import { isAvailable, isGoing, isReady } from "../pods/pod.ts";
import { revisionOfPod } from "./identity.ts";
import type { StatefulInput } from "./plan.ts";

/** Zero counters are omitted where upstream omits them. */
export function statefulStatus(input: StatefulInput): StatefulSetStatus {
  const { set, pods, currentRevision, updateRevision, nowMs } = input;
  const minReady = set.spec?.minReadySeconds ?? 0;
  const living = pods.filter((pod) => !isGoing(pod));
  const of = (revision: string): number =>
    living.filter((pod) => revisionOfPod(pod) === revision).length;
  const updated = of(updateRevision);
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isReady(pod));
  const available = ready.filter((pod) => isAvailable(pod, minReady, nowMs)).length;
  const wanted = set.spec?.replicas ?? 1;
  // A finished rollout makes the update revision the current one.
  const isRolling = set.spec?.updateStrategy?.type !== "OnDelete";
  const done = isRolling && updated === wanted && ready.length === wanted && pods.length === wanted;
  const current = done ? updated : of(currentRevision);
  return {
    observedGeneration: set.metadata?.generation ?? 0,
    replicas: pods.length,
    availableReplicas: available,
    collisionCount: input.collisions,
    currentRevision: done ? updateRevision : currentRevision,
    updateRevision,
    ...(ready.length === 0 ? {} : { readyReplicas: ready.length }),
    ...(current === 0 ? {} : { currentReplicas: current }),
    ...(updated === 0 ? {} : { updatedReplicas: updated }),
    ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}
