/** The conditions a kubelet keeps on a pod, with its reasons and messages. */
import type { ContainerStatus, Pod, PodCondition } from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import type { StatusFacts } from "./container-status.ts";
import { isSidecar } from "./pod-run.ts";

export const resizePending = "PodResizePending";

export interface Statuses {
  readonly main: readonly ContainerStatus[];
  readonly init: readonly ContainerStatus[];
}

interface Why {
  readonly reason?: string;
  readonly message?: string;
}

/** Undefined: the condition holds. */
type Fault = Why | undefined;

export function podConditions(
  facts: StatusFacts,
  statuses: Statuses,
  phase: string,
): PodCondition[] {
  const { run } = facts;
  const noSandbox = run.stage === "creating" || run.stage === "finished";
  const uninitialized = initFault(facts.pod, statuses, phase);
  const unready = containersFault(facts.pod, statuses, phase);
  const initialized = phase === "Succeeded" ? { reason: "PodCompleted" } : {};
  return [
    ...(run.resize === undefined ? [] : [resizeCondition(facts)]),
    condition(facts, "PodReadyToStartContainers", noSandbox ? {} : undefined),
    { ...condition(facts, "Initialized", uninitialized), ...initialized },
    condition(facts, "Ready", unready ?? gatesFault(facts)),
    condition(facts, "ContainersReady", unready),
    condition(facts, "PodScheduled", undefined),
  ];
}

function initFault(pod: Pod, { main, init }: Statuses, phase: string): Fault {
  if (phase === "Succeeded" || init.length === 0 || main.some(hasStarted)) return undefined;
  const isDone = (status: ContainerStatus, at: number): boolean => {
    const container = pod.spec?.initContainers?.[at];
    const isRestartable = container !== undefined && isSidecar(container);
    return isRestartable ? status.started === true : status.ready;
  };
  const names = init.filter((status, at) => !isDone(status, at)).map(({ name }) => name);
  if (names.length === 0) return undefined;
  const message = `containers with incomplete status: [${names.join(" ")}]`;
  return { reason: "ContainersNotInitialized", message };
}

/** A container that ever ran, now or before. */
function hasStarted({ state, lastState }: ContainerStatus): boolean {
  return (
    state?.running !== undefined ||
    (state?.terminated?.startedAt ?? lastState?.terminated?.startedAt) !== undefined
  );
}

function containersFault(pod: Pod, { main, init }: Statuses, phase: string): Fault {
  if (phase === "Succeeded") return { reason: "PodCompleted" };
  if (phase === "Failed") return { reason: "PodFailed" };
  const sidecars = init.filter((status, at) => {
    const container = pod.spec?.initContainers?.[at];
    return container !== undefined && isSidecar(container) && !status.ready;
  });
  const readyNames = new Set(main.filter(({ ready }) => ready).map(({ name }) => name));
  const unready = (pod.spec?.containers ?? []).filter(({ name }) => !readyNames.has(name));
  const names = [...sidecars, ...unready].map(({ name }) => name);
  if (names.length === 0) return undefined;
  const message = `containers with unready status: [${names.join(" ")}]`;
  return { reason: "ContainersNotReady", message };
}

/** As the kubelet words it, for the gates that hold the pod back. */
function gatesFault({ pod }: StatusFacts): Fault {
  const texts: string[] = [];
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const known = pod.status?.conditions?.find((c) => c.type === conditionType);
    const gate = `pod readiness gate "${conditionType}"`;
    if (known === undefined) texts.push(`corresponding condition of ${gate} does not exist.`);
    else if (known.status !== "True") {
      texts.push(`the status of ${gate} is not "True", but ${known.status}`);
    }
  }
  if (texts.length === 0) return undefined;
  return { reason: "ReadinessGatesNotReady", message: texts.join(", ") };
}

function resizeCondition(facts: StatusFacts): PodCondition {
  const { message = "" } = facts.run.resize ?? {};
  return { ...condition(facts, resizePending, undefined), reason: "Deferred", message };
}

function condition(facts: StatusFacts, type: string, fault: Fault): PodCondition {
  const status = fault === undefined ? "True" : "False";
  const old = facts.pod.status?.conditions?.find((known) => known.type === type);
  const now = formatTime(facts.nowMs);
  const generation = facts.pod.metadata?.generation;
  return {
    type,
    status,
    lastTransitionTime: old?.status === status ? (old.lastTransitionTime ?? now) : now,
    ...fault,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
