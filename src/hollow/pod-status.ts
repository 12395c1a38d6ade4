/**
 * Pod statuses as a kubelet writes them: conditions, container statuses, phase, addresses.
 *
 * Built anew from (pod, run) each time; PodScheduled and conditions of others are not named, so a
 * strategic merge leaves them alone.
 */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
} from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import { hexId } from "./hex-id.ts";

type PodStage = "accepted" | "creating" | "running" | "backoff" | "finished";

/** What a kubelet keeps of a pod. Times are wall milliseconds, so a restart can read them back. */
export interface PodRun {
  readonly stage: PodStage;
  readonly acceptedMs: number;
  /** When the containers last started; 0 before. */
  readonly startedMs: number;
  /** When the stage `backoff` ends. */
  readonly resumeMs: number;
  readonly restarts: number;
  readonly address: string;
  /** As last written. */
  readonly ready: "ready" | "not-ready" | "gates-not-ready";
  /** When deletion was first seen; 0: not yet. */
  readonly stoppingMs: number;
}

export interface StatusFacts {
  readonly pod: Pod;
  readonly run: PodRun;
  readonly hostAddress: string;
  readonly nowMs: number;
}

/** `status` as a strategic merge patch: merged by type, a condition keeps what is not named as gone. */
export function statusPatch(pod: Pod, status: Partial<PodStatus>): object {
  const { conditions } = status;
  if (conditions === undefined) return status;
  const known = pod.status?.conditions ?? [];
  const whole = conditions.map((next) => ({
    ...goneOf(
      known.find(({ type }) => type === next.type),
      next,
    ),
    ...next,
  }));
  return { ...status, conditions: whole };
}

function goneOf(old: PodCondition | undefined, next: PodCondition): object {
  return {
    ...(old?.reason === undefined || next.reason !== undefined ? {} : { reason: null }),
    ...(old?.message === undefined || next.message !== undefined ? {} : { message: null }),
  };
}

type Ready = "ready" | "not-ready" | "gates-not-ready";

/** Accepted, nothing started yet. */
export function creatingStatus(facts: StatusFacts): Partial<PodStatus> {
  const waiting = { waiting: { reason: "ContainerCreating" } };
  const initial = { waiting: { reason: "PodInitializing" } };
  const hasInit = (facts.pod.spec?.initContainers ?? []).length > 0;
  return {
    ...common(facts, "Pending"),
    conditions: conditions(facts, "not-ready", "ContainersNotReady"),
    containerStatuses: statuses(facts, () => (hasInit ? initial : waiting), false),
    ...initStatuses(facts, () => waiting, false),
  };
}

export function runningStatus(facts: StatusFacts, ready: Ready): Partial<PodStatus> {
  const startedAt = formatTime(facts.run.startedMs);
  const up = { running: { startedAt } };
  return {
    ...common(facts, "Running"),
    ...addresses(facts),
    conditions: conditions(facts, ready, "ContainersNotReady"),
    containerStatuses: statuses(facts, () => up, ready !== "not-ready"),
    ...initStatuses(facts, (c) => (isSidecar(c) ? up : finished(facts, 0, c)), true),
  };
}

/** Between two runs of containers that end and are started again. */
export function backoffStatus(facts: StatusFacts, exitCode: number, delayMs: number) {
  const name = facts.pod.metadata?.name ?? "";
  const message = `back-off ${delayMs / 1_000}s restarting failed container=${name}`;
  const waiting = { waiting: { reason: "CrashLoopBackOff", message } };
  return {
    ...common(facts, "Running"),
    ...addresses(facts),
    conditions: conditions(facts, "not-ready", "ContainersNotReady"),
    containerStatuses: statuses(facts, () => waiting, false).map((status) => ({
      ...status,
      lastState: finished(facts, exitCode, { name: status.name }),
    })),
  };
}

/** The end: all containers exited. `reason` and `message` are the pod's own, for deadlines. */
export function finishedStatus(
  facts: StatusFacts,
  exitCode: number,
  why: { readonly reason?: string; readonly message?: string } = {},
): Partial<PodStatus> {
  const succeeded = exitCode === 0;
  const reason = succeeded ? "PodCompleted" : "PodFailed";
  return {
    ...common(facts, succeeded ? "Succeeded" : "Failed"),
    ...addresses(facts),
    ...why,
    conditions: conditions(facts, "not-ready", reason),
    containerStatuses: statuses(facts, (c) => finished(facts, exitCode, c), false),
    ...initStatuses(facts, (c) => finished(facts, 0, c), false),
  };
}

function common(facts: StatusFacts, phase: string): Partial<PodStatus> {
  const { pod, run, hostAddress } = facts;
  const generation = pod.metadata?.generation;
  return {
    phase,
    hostIP: hostAddress,
    hostIPs: [{ ip: hostAddress }],
    startTime: pod.status?.startTime ?? formatTime(run.acceptedMs),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

function addresses({ run }: StatusFacts): Partial<PodStatus> {
  return run.address === "" ? {} : { podIP: run.address, podIPs: [{ ip: run.address }] };
}

function conditions(facts: StatusFacts, ready: Ready, whyNot: string): PodCondition[] {
  const started = facts.run.stage !== "creating";
  const ended = whyNot !== "ContainersNotReady";
  const containers = ready !== "not-ready";
  const all = (facts.pod.spec?.containers ?? []).map((container) => container.name).join(" ");
  const unready = { reason: whyNot, ...(ended ? {} : { message: unreadyText(all) }) };
  const gates = { reason: "ReadinessGatesNotReady", message: gatesText(facts.pod) };
  const initialized = started ? (whyNot === "PodCompleted" ? { reason: whyNot } : {}) : {};
  const waitsForInit = !started && (facts.pod.spec?.initContainers ?? []).length > 0;
  return [
    condition(facts, "PodReadyToStartContainers", !ended, {}),
    condition(
      facts,
      "Initialized",
      !waitsForInit,
      waitsForInit ? { reason: "ContainersNotInitialized" } : initialized,
    ),
    condition(facts, "Ready", ready === "ready", containers ? gates : unready),
    condition(facts, "ContainersReady", containers, unready),
  ];
}

/** As the kubelet words it, for the first gates that hold the pod back. */
function gatesText(pod: Pod): string {
  const texts: string[] = [];
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const known = pod.status?.conditions?.find((c) => c.type === conditionType);
    const gate = `pod readiness gate "${conditionType}"`;
    if (known === undefined) texts.push(`corresponding condition of ${gate} does not exist.`);
    else if (known.status !== "True") {
      texts.push(`the status of ${gate} is not "True", but ${known.status}`);
    }
  }
  return texts.join(", ");
}

function unreadyText(names: string): string {
  return `containers with unready status: [${names}]`;
}

function condition(
  facts: StatusFacts,
  type: string,
  holds: boolean,
  why: { readonly reason?: string; readonly message?: string },
): PodCondition {
  const status = holds ? "True" : "False";
  const old = facts.pod.status?.conditions?.find((known) => known.type === type);
  const now = formatTime(facts.nowMs);
  const generation = facts.pod.metadata?.generation;
  const completed = type === "Initialized" && why.reason === "PodCompleted";
  return {
    type,
    status,
    lastTransitionTime: old?.status === status ? (old.lastTransitionTime ?? now) : now,
    ...(holds && !completed ? {} : why),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

function statuses(
  facts: StatusFacts,
  state: (container: Container) => ContainerState,
  ready: boolean,
): ContainerStatus[] {
  return (facts.pod.spec?.containers ?? []).map((container) =>
    containerStatus(facts, container, state(container), ready, facts.run.restarts),
  );
}

function initStatuses(
  facts: StatusFacts,
  state: (container: Container) => ContainerState,
  done: boolean,
): Partial<PodStatus> {
  const containers = facts.pod.spec?.initContainers ?? [];
  if (containers.length === 0) return {};
  const list = containers.map((c) => containerStatus(facts, c, state(c), done, 0));
  return { initContainerStatuses: list };
}

function containerStatus(
  facts: StatusFacts,
  container: Container,
  state: ContainerState,
  ready: boolean,
  restartCount: number,
): ContainerStatus {
  const image = container.image ?? "";
  const created = state.waiting === undefined || restartCount > 0;
  const id = created ? { containerID: containerId(facts.pod, container.name, restartCount) } : {};
  return {
    name: container.name,
    image,
    imageID: created ? `${image.split("@")[0] ?? ""}@sha256:${hexId(image)}` : "",
    ...id,
    state,
    lastState: {},
    ready,
    restartCount,
    started: state.running !== undefined,
  };
}

function containerId(pod: Pod, name: string, restarts: number): string {
  return `containerd://${hexId(`${pod.metadata?.uid ?? ""}/${name}/${restarts}`)}`;
}

function finished(
  facts: StatusFacts,
  exitCode: number,
  container: { readonly name: string },
): ContainerState {
  return {
    terminated: {
      exitCode,
      reason: exitCode === 0 ? "Completed" : "Error",
      startedAt: formatTime(facts.run.startedMs),
      finishedAt: formatTime(facts.nowMs),
      containerID: containerId(facts.pod, container.name, facts.run.restarts),
    },
  };
}

function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}
