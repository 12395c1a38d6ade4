/**
 * Pod statuses as a kubelet writes them: phase, addresses, conditions, container statuses.
 *
 * Built anew from (pod, run) each time; conditions of others are not named, so a strategic merge
 * leaves them alone.
 */
import type { Pod, PodCondition, PodStatus } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import type { StatusFacts } from "./container-status.ts";
import { ephemeralStatuses, initStatuses, mainStatuses } from "./container-status.ts";
import type { Statuses } from "./pod-conditions.ts";
import { podAmounts } from "./pod-amounts.ts";
import { podConditions } from "./pod-conditions.ts";
import { resizeInProgress, resizePending } from "./pod-run.ts";
import { allocatedSpec } from "./resize.ts";

/** Returns `status` as a strategic merge patch. Conditions merge by type, so removed fields must be named as null. */
export function statusPatch(pod: Pod, status: Partial<PodStatus>): object {
  const { conditions } = status;
  if (conditions === undefined) return status;
  const known = pod.status?.conditions ?? [];
  const whole: object[] = conditions.map((next) => ({
    ...goneOf(
      known.find(({ type }) => type === next.type),
      next,
    ),
    ...next,
  }));
  for (const type of [resizePending, resizeInProgress]) {
    const isOf = (condition: PodCondition): boolean => condition.type === type;
    if (known.some(isOf) && !conditions.some(isOf)) whole.push({ $patch: "delete", type });
  }
  return { ...status, conditions: whole };
}

function goneOf(old: PodCondition | undefined, next: PodCondition): object {
  return {
    ...(old?.reason === undefined || next.reason !== undefined ? {} : { reason: null }),
    ...(old?.message === undefined || next.message !== undefined ? {} : { message: null }),
  };
}

/** Returns the whole status for the stage of the run. */
export function podStatus(facts: StatusFacts): Partial<PodStatus> {
  const { pod, run, hostAddress, ending } = facts;
  const main = mainStatuses(facts);
  const init = initStatuses(facts);
  const ephemeral = ephemeralStatuses(facts);
  const phase = phaseOf(facts, { main, init });
  const over = run.stage === "finished";
  const granted = podAmounts(run.resize === undefined ? pod.spec : allocatedSpec(pod));
  const amounts = run.resizing === undefined ? granted : podAmounts(allocatedSpec(pod));
  return {
    phase,
    hostIP: hostAddress,
    hostIPs: [{ ip: hostAddress }],
    ...(hasSandbox(facts) ? { podIP: run.address, podIPs: [{ ip: run.address }] } : {}),
    ...(over && ending?.reason !== undefined ? { reason: ending.reason } : {}),
    ...(over && ending?.message !== undefined ? { message: ending.message } : {}),
    startTime: startTimeOf(facts),
    ...observed(pod),
    conditions: podConditions(facts, { main, init }, phase),
    resources: amounts,
    ...given({ allocatedResources: granted.requests }),
    containerStatuses: main,
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
  };
}

/** Returns the status of a pod that the kubelet does not admit; it never has containers, addresses or conditions. */
export function rejectedStatus(
  facts: StatusFacts,
  rejection: { readonly reason: string; readonly message: string },
): Partial<PodStatus> {
  return {
    phase: "Failed",
    reason: rejection.reason,
    message: `Pod was rejected: ${rejection.message}`,
    startTime: startTimeOf(facts),
    ...observed(facts.pod),
  };
}

function startTimeOf({ pod, run }: StatusFacts): string {
  return pod.status?.startTime ?? formatTime(run.acceptedMs);
}

function observed(pod: Pod): Partial<PodStatus> {
  const generation = pod.metadata?.generation;
  return generation === undefined ? {} : { observedGeneration: generation };
}

function hasSandbox({ run }: StatusFacts): boolean {
  return run.address !== "" && run.stage !== "accepted" && run.stage !== "creating";
}

function phaseOf(facts: StatusFacts, { main }: Statuses): string {
  const { pod, run, ending } = facts;
  switch (run.stage) {
    case "accepted":
    case "creating":
    case "initializing":
      return "Pending";
    case "pulling":
      return main.some(isNeverStarted) ? "Pending" : "Running";
    case "running":
    case "backoff":
      return "Running";
    case "finished":
      if (ending === undefined) return pod.status?.phase ?? "Failed";
      return ending.exitCode === 0 ? "Succeeded" : "Failed";
    default:
      return run.stage satisfies never;
  }
}

function isNeverStarted({ state, lastState }: Statuses["main"][number]): boolean {
  return state?.waiting !== undefined && lastState?.terminated === undefined;
}
