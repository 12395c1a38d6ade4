/** Describes what the group of a Pod waits for, from the same facts that decide whether its Pods are held. */
import type { Pod, PodGroup } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import {
  type CoschedulingGroup,
  coschedulingSpec,
  type GroupRef,
  groupRefOf,
  nativeSpec,
} from "./group-spec.ts";

/** `group`: undefined when it does not exist. `pods`: all Pods of the Pod's namespace. */
export function explainGroup(
  ref: GroupRef,
  group: KubeObject | undefined,
  pods: readonly Pod[],
): string {
  const name = `PodGroup ${ref.namespace}/${ref.name}`;
  if (group === undefined) return `${name} does not exist: its pods are held until it does`;
  const isNative = ref.form === "native";
  // The form of the reference determines the kind of the group.
  const spec = isNative
    ? nativeSpec(group as PodGroup)
    : coschedulingSpec(group as CoschedulingGroup);
  const members = pods.filter((pod) => groupRefOf(pod)?.key === ref.key && !isEnded(pod));
  const placed = members.filter((pod) => (pod.spec?.nodeName ?? "") !== "").length;
  const counts = `${members.length} pods, ${placed} of them placed; needs ${spec.minCount}`;
  const topology =
    spec.topologyKey === undefined ? "" : `; all on nodes with one value of ${spec.topologyKey}`;
  return `${name}: ${counts}${topology}; ${stateOf(members.length, placed, spec.minCount)}`;
}

function stateOf(members: number, placed: number, minCount: number): string {
  if (members < minCount) return `waits for ${minCount - members} more pods to be made`;
  if (placed >= minCount) return "is placed";
  return `waits for room for ${minCount - placed} pods at once`;
}

function isEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
