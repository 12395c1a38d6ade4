/** The pod conditions that a kubelet maintains, with its reasons and messages. */
import type { ContainerStatus, Pod, PodCondition } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";
import type { StatusFacts } from "./container-status.ts";
import type { Resizing } from "./pod-run.ts";
import { isSidecar, resizeInProgress, resizePending } from "./pod-run.ts";
import { mayRestartAll } from "./restart.ts";

export interface Statuses {
  readonly main: readonly ContainerStatus[];
  readonly init: readonly ContainerStatus[];
}

interface Why {
  readonly reason?: string;
  readonly message?: string;
}

/** Why a condition does not hold. Undefined: it holds. */
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
    ...(run.resize === undefined ? [] : [pendingCondition(facts)]),
    ...(run.resizing === undefined ? [] : [inProgressCondition(facts, run.resizing)]),
    condition(facts, "PodReadyToStartContainers", noSandbox ? {} : undefined),
    { ...condition(facts, "Initialized", uninitialized), ...initialized },
    condition(facts, "Ready", unready ?? gatesFault(facts)),
    condition(facts, "ContainersReady", unready),
    condition(facts, "PodScheduled", undefined),
    ...(mayRestartAll(facts.pod) ? [restartingCondition(facts, phase)] : []),
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

/** Whether the container runs or has run before. */
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

/** Returns the kubelet's message about the readiness gates that keep the pod from being ready. */
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

function pendingCondition(facts: StatusFacts): PodCondition {
  const { message = "" } = facts.run.resize ?? {};
  return { ...condition(facts, resizePending, undefined), reason: "Deferred", message };
}

function inProgressCondition(facts: StatusFacts, { generation }: Resizing): PodCondition {
  return { ...condition(facts, resizeInProgress, undefined), observedGeneration: generation };
}

/** True from the exit that triggers the restart until all containers are gone; as upstream, without a generation. */
function restartingCondition(facts: StatusFacts, phase: string): PodCondition {
  const over = { Succeeded: { reason: "PodCompleted" }, Failed: { reason: "PodFailed" } } as const;
  const isOver = phase === "Succeeded" || phase === "Failed";
  const isRestarting = facts.run.restartsAll === true && !isOver;
  const fault = isRestarting ? undefined : isOver ? over[phase] : {};
  const { observedGeneration: _, ...shown } = condition(facts, "AllContainersRestarting", fault);
  if (!isRestarting) return shown;
  const message = "container exited with restart policy rule";
  return { ...shown, reason: "RestartAllContainersStarted", message };
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
    ...given({ observedGeneration: generation }),
  };
}
