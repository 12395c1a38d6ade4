/**
 * The status of a coscheduling PodGroup, from its Pods.
 *
 *   "" ─► Pending ─(minMember Pods are there)─► Scheduling ◄─► Running ─► Finished | Failed
 *            ▲                                       │
 *            └───────────(fewer are there)───────────┘
 *
 * After  pkg/controllers/podgroup_controller.go of sigs.k8s.io/scheduler-plugins, which counts the Pods of all
 *        namespaces; here only those of the group's namespace count.
 */
import type { Pod } from "#api/gen/types.ts";
import type { CoschedulingGroup, CoschedulingStatus } from "./group-spec.ts";

/** Returns the new status. Undefined: the status is up to date. `pods`: all Pods of the group, finished ones too. */
export function nextPhase(
  group: CoschedulingGroup,
  pods: readonly Pod[],
): CoschedulingStatus | undefined {
  const { status = {} } = group;
  const minMember = group.spec?.minMember ?? 0;
  switch (status.phase ?? "") {
    case "Finished":
    case "Failed":
      return undefined;
    case "":
      return { phase: "Pending" };
    case "Pending":
      if (pods.length < minMember) return undefined;
      return { phase: "Scheduling", ...occupiedBy(pods[0]) };
    default:
      return changed(status, laterPhase(minMember, pods));
  }
}

function laterPhase(minMember: number, pods: readonly Pod[]): CoschedulingStatus {
  const counted = {
    running: countOf(pods, "Running"),
    succeeded: countOf(pods, "Succeeded"),
    failed: countOf(pods, "Failed"),
  };
  const { failed, running, succeeded } = counted;
  if (pods.length < minMember) return { phase: "Pending", ...counted };
  let next = succeeded + running < minMember ? "Scheduling" : "Running";
  if (failed !== 0 && failed + running + succeeded >= minMember) next = "Failed";
  if (succeeded >= minMember) next = "Finished";
  return { phase: next, ...counted };
}

function countOf(pods: readonly Pod[], phase: string): number {
  return pods.filter(({ status }) => status?.phase === phase).length;
}

function occupiedBy(pod: Pod | undefined): CoschedulingStatus {
  const { namespace = "", ownerReferences = [] } = pod?.metadata ?? {};
  if (ownerReferences.length === 0) return {};
  const owners = ownerReferences.map(({ name }) => `${namespace}/${name}`);
  return { occupiedBy: owners.sort().join(",") };
}

function changed(
  old: CoschedulingStatus,
  next: CoschedulingStatus,
): CoschedulingStatus | undefined {
  const isSame =
    old.phase === next.phase &&
    (old.running ?? 0) === next.running &&
    (old.succeeded ?? 0) === next.succeeded &&
    (old.failed ?? 0) === next.failed;
  return isSame ? undefined : next;
}
