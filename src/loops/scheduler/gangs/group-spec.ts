/**
 * Reads the requirements of a PodGroup from either of its forms:
 *   native        `scheduling.k8s.io/v1alpha2` PodGroup, named by `spec.schedulingGroup` of its Pods;
 *   coscheduling  `scheduling.x-k8s.io/v1alpha1` PodGroup of sigs.k8s.io/scheduler-plugins, named by a label of its Pods.
 *
 * Holds  a Pod has at most one group: the field has precedence over the label.
 */
import type { Pod, PodGroup } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";

export type GroupForm = "native" | "coscheduling";

export interface GroupRef {
  readonly form: GroupForm;
  readonly namespace: string;
  readonly name: string;
  /** Key that is unique over both forms. */
  readonly key: string;
}

export interface GroupSpec {
  /** Number of Pods that are placed together or not at all; 0: each Pod is placed on its own. */
  readonly minCount: number;
  /** Node label: all Pods are placed on nodes with one value of it. Undefined: on any nodes. */
  readonly topologyKey: string | undefined;
  /** Priority of the group as a whole. Undefined: each Pod has its own. */
  readonly priority: number | undefined;
  /** Whether preemption evicts either all Pods of the group or none. */
  readonly isDisruptedWhole: boolean;
  /** Maximum time that ready Pods wait for the bind prerequisites of the other Pods. */
  readonly timeoutMs: number;
  readonly object: KubeObject;
}

/** The fields of the custom resource that this package reads. */
export interface CoschedulingGroup extends KubeObject {
  readonly spec?: {
    readonly minMember?: number;
    readonly scheduleTimeoutSeconds?: number;
  };
  readonly status?: CoschedulingStatus;
}

export interface CoschedulingStatus {
  readonly phase?: string;
  readonly occupiedBy?: string;
  readonly running?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly scheduleStartTime?: string | null;
}

const groupLabel = "scheduling.x-k8s.io/pod-group";

/** Upstream's permitTimeoutDuration. */
const nativeTimeoutMs = 300_000;
/** The plugin's default `permitWaitingTimeSeconds`. */
const coschedulingTimeoutMs = 60_000;

export function groupRefOf(pod: Pod): GroupRef | undefined {
  const named = pod.spec?.schedulingGroup?.podGroupName;
  const label = pod.metadata?.labels?.[groupLabel];
  const name = named ?? label ?? "";
  if (name === "") return undefined;
  return groupRef(named === undefined ? "coscheduling" : "native", pod, name);
}

export function groupRefTo(form: GroupForm, group: KubeObject): GroupRef {
  return groupRef(form, group, group.metadata?.name ?? "");
}

function groupRef(form: GroupForm, { metadata }: KubeObject, name: string): GroupRef {
  const namespace = metadata?.namespace ?? "";
  return { form, namespace, name, key: `${form} ${namespace}/${name}` };
}

export function nativeSpec(group: PodGroup): GroupSpec {
  const { schedulingPolicy, schedulingConstraints, priority, disruptionMode } = group.spec;
  return {
    minCount: schedulingPolicy.gang?.minCount ?? 0,
    topologyKey: schedulingConstraints?.topology?.[0]?.key,
    priority,
    isDisruptedWhole: disruptionMode === "PodGroup",
    timeoutMs: nativeTimeoutMs,
    object: group,
  };
}

export function coschedulingSpec(group: CoschedulingGroup): GroupSpec {
  const { minMember = 0, scheduleTimeoutSeconds: seconds } = group.spec ?? {};
  return {
    minCount: minMember,
    topologyKey: undefined,
    priority: undefined,
    isDisruptedWhole: false,
    timeoutMs: seconds === undefined || seconds <= 0 ? coschedulingTimeoutMs : seconds * 1_000,
    object: group,
  };
}
