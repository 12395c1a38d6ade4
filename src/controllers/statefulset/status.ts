/** The status of a StatefulSet, pure. */
import type { StatefulSetStatus } from "#api/gen/types.ts";
import { isReady } from "../shared/pod.ts";
import { ordinalsOf, revisionOfPod } from "./identity.ts";
import { isUp, type StatefulInput } from "./plan.ts";

export function statefulStatus(input: StatefulInput): StatefulSetStatus {
  const { set, currentRevision, updateRevision } = input;
  const pods = input.pods.filter(
    (pod) => pod.status?.phase !== "Failed" && pod.status?.phase !== "Succeeded",
  );
  const created = pods.filter(
    (pod) => pod.metadata?.deletionTimestamp === undefined || isReady(pod),
  );
  const living = pods.filter((pod) => pod.metadata?.deletionTimestamp === undefined);
  const current = living.filter((pod) => revisionOfPod(pod) === currentRevision).length;
  const updated = living.filter((pod) => revisionOfPod(pod) === updateRevision).length;
  const ready = living.filter((pod) => pod.status?.phase === "Running" && isReady(pod)).length;
  const available = living.filter((pod) => isUp(input, pod)).length;
  const { start, end } = ordinalsOf(set);
  // A finished rollout makes the update revision the current one.
  const done = updated === end - start && ready === end - start && created.length === updated;
  const isRolling = set.spec?.updateStrategy?.type !== "OnDelete";
  const settled = done && isRolling;
  const currentReplicas = settled ? updated : current;
  return {
    observedGeneration: set.metadata?.generation ?? 0,
    replicas: created.length,
    availableReplicas: available,
    collisionCount: set.status?.collisionCount ?? 0,
    currentRevision: settled ? updateRevision : currentRevision,
    updateRevision,
    ...(ready === 0 ? {} : { readyReplicas: ready }),
    ...(currentReplicas === 0 ? {} : { currentReplicas }),
    ...(updated === 0 ? {} : { updatedReplicas: updated }),
    ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}
