/**
 * Statuses of a pod's containers as a kubelet writes them, from the stage of the pod and the status
 * written before: a container that goes on keeps what it showed, so nothing but news is new.
 *
 * Holds  init statuses are in the order of the spec, the others in the order of their names.
 */
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
} from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { hexId } from "./hex-id.ts";
import type { ImagePatterns } from "./image-pull.ts";
import { cannotPull, pullWaiting } from "./image-pull.ts";
import type { PodRun } from "./pod-run.ts";
import { byName, isSidecar } from "./pod-run.ts";
import { mustRestartToResize } from "./resize.ts";
import { afterExit } from "./restart.ts";

export interface StatusFacts {
  readonly pod: Pod;
  readonly run: PodRun;
  readonly hostAddress: string;
  readonly nowMs: number;
  readonly images: ImagePatterns;
  /** How running containers end in this step. Absent: no container ends. */
  readonly ending?: Ending;
  /** The pod restarts all containers in this step: the current container statuses are of the previous run. */
  readonly isRestartingAll?: true;
}

export interface Ending {
  readonly exitCode: number;
  /** Delay of the back-off after the end. */
  readonly delayMs?: number;
  /** Reason of the pod's status, for deadlines. */
  readonly reason?: string;
  readonly message?: string;
}

type Known = ContainerStatus | undefined;

export function mainStatuses(facts: StatusFacts): ContainerStatus[] {
  const known = byName(facts.pod.status?.containerStatuses);
  const list = (facts.pod.spec?.containers ?? []).map((container) =>
    mainStatus(facts, container, known.get(container.name)),
  );
  return list.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function initStatuses(facts: StatusFacts): ContainerStatus[] {
  const containers = facts.pod.spec?.initContainers ?? [];
  if (containers.length === 0) return [];
  const known = byName(facts.pod.status?.initContainerStatuses);
  return containers.map((container, i) =>
    initStatus(facts, container, known.get(container.name), i),
  );
}

/** Returns the statuses of `kubectl debug` containers, which start at once and are never ready. */
export function ephemeralStatuses(facts: StatusFacts): ContainerStatus[] {
  const { pod, run } = facts;
  if (run.stage === "accepted" || run.stage === "creating") return [];
  const known = byName(pod.status?.ephemeralContainerStatuses);
  return (pod.spec?.ephemeralContainers ?? []).map((container) => {
    const old = known.get(container.name);
    return run.stage === "finished"
      ? ended(facts, container, old)
      : up(facts, container, old, false);
  });
}

function mainStatus(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  const { run, images } = facts;
  const ready = run.ready !== "not-ready";
  switch (run.stage) {
    case "accepted":
    case "creating":
    case "initializing":
      return waiting(facts, container, old);
    case "pulling":
      if (cannotPull(images, container)) return notPulled(facts, container, old);
      return up(facts, container, old, ready);
    case "running":
      return staysEnded(facts, container, old)
        ? { ...old, ready: false }
        : up(facts, container, old, ready);
    case "backoff":
      return betweenRuns(facts, container, old);
    case "finished":
      if (run.init !== undefined) return waiting(facts, container, old);
      return ended(facts, container, old);
    default:
      return run.stage satisfies never;
  }
}

function initStatus(
  facts: StatusFacts,
  container: Container,
  old: Known,
  at: number,
): ContainerStatus {
  const { run } = facts;
  if (run.stage === "accepted" || run.stage === "creating") return waiting(facts, container, old);
  if (run.restartsAll === true) return ended(asKilled(facts), container, old);
  const index = run.init?.index ?? Infinity;
  const isOver = run.stage === "finished";
  if (at < index) {
    if (!isSidecar(container)) return done(facts, container, old);
    return isOver ? ended(asKilled(facts), container, old) : up(facts, container, old, true);
  }
  if (at > index) return waiting(facts, container, old);
  if (isOver) return ended(facts, container, old);
  if (run.pull !== undefined) return notPulled(facts, container, old);
  if (run.init?.startedMs === 0) return backedOff(facts, container, old);
  return up(facts, container, old, isSidecar(container));
}

/** Whether the container has ended and its policy does not restart it while other containers run. */
function staysEnded(facts: StatusFacts, container: Container, old: Known): old is ContainerStatus {
  if (facts.isRestartingAll === true) return false;
  const exitCode = old?.state?.terminated?.exitCode;
  return exitCode !== undefined && afterExit(container, facts.pod, Number(exitCode)) === "stays";
}

function betweenRuns(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  const { pod, run, ending } = facts;
  if (staysEnded(facts, container, old)) return { ...old, ready: false };
  const next = ending === undefined ? undefined : afterExit(container, pod, ending.exitCode);
  // Containers that did not request the restart of all containers are killed.
  if (run.restartsAll === true)
    return ended(next === "restarts-all" ? facts : asKilled(facts), container, old);
  return next === "stays" ? ended(facts, container, old) : backedOff(facts, container, old);
}

/** Returns the facts of a killed container. Sidecars do not end on their own, but after the pod's main containers. */
function asKilled(facts: StatusFacts): StatusFacts {
  return { ...facts, ending: { exitCode: killedCode } };
}

/** Whether all containers restart and this container has run before. */
function isAnotherRun({ isRestartingAll }: StatusFacts, old: Known): boolean {
  return isRestartingAll === true && (old?.containerID ?? "") !== "";
}

function waiting(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  const { pod } = facts;
  const hasInit = (pod.spec?.initContainers ?? []).length > 0;
  const reason = hasInit ? "PodInitializing" : "ContainerCreating";
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    state: { waiting: { reason } },
    lastState: facts.isRestartingAll === true ? lastState(facts, old) : (old?.lastState ?? {}),
    ready: false,
    restartCount: (old?.restartCount ?? 0) + (isAnotherRun(facts, old) ? 1 : 0),
    started: false,
  };
}

function notPulled(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  const { pull } = facts.run;
  const state = pull === undefined ? {} : { waiting: pullWaiting(container, pull) };
  return { ...waiting(facts, container, old), lastState: lastState(facts, old), state };
}

/** Returns a running status: unchanged, or new when the container did not run or was changed. */
function up(facts: StatusFacts, container: Container, old: Known, ready: boolean): ContainerStatus {
  const resources = resourcesOf(facts, container, old);
  const runs = old?.state?.running !== undefined;
  if (
    runs &&
    old.image === (container.image ?? "") &&
    !mustRestartToResize(container, old, facts.run)
  ) {
    return { ...old, ...resources, ready, started: true };
  }
  const ranBefore = (old?.containerID ?? "") !== "";
  const restartCount = (old?.restartCount ?? 0) + (ranBefore ? 1 : 0);
  return {
    ...created(facts, container, restartCount),
    ...resources,
    state: { running: { startedAt: formatTime(facts.nowMs) } },
    lastState: lastState(facts, old),
    ready,
    started: true,
  };
}

/** Status between two runs. The back-off of all main containers is the back-off of the first one. */
function backedOff(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  const { pod, ending } = facts;
  if (ending === undefined && old !== undefined) return old;
  const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
  const delay = goDuration(ending?.delayMs ?? 0);
  const owner = `${name}_${namespace}(${uid})`;
  const message = `back-off ${delay} restarting failed container=${container.name} pod=${owner}`;
  const restartCount = old?.restartCount ?? 0;
  return {
    ...created(facts, container, restartCount),
    ...resourcesOf(facts, container, old),
    state: { waiting: { reason: "CrashLoopBackOff", message } },
    lastState: lastState(facts, old),
    ready: false,
    started: false,
  };
}

/** Status of an init container, not a sidecar, that has succeeded. */
function done(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  const again = isAnotherRun(facts, old);
  if (old?.state?.terminated?.exitCode === 0 && !again) return { ...old, ready: true };
  const restartCount = (old?.restartCount ?? 0) + (again ? 1 : 0);
  const base = created(facts, container, restartCount);
  const terminated = terminatedState(facts, { ...base, state: old?.state ?? {} }, 0);
  return {
    ...base,
    ...resourcesOf(facts, container, old),
    state: { terminated },
    lastState: again ? lastState(facts, old) : (old?.lastState ?? {}),
    ready: true,
    started: false,
  };
}

/** Status after the end of the pod: a running container has ended, one that never ran cannot be located. */
function ended(facts: StatusFacts, container: Container, old: Known): ContainerStatus {
  if (old?.state?.terminated !== undefined) return { ...old, ready: false };
  const hadStarted = facts.run.startedMs > 0;
  const unseen = hadStarted ? created(facts, container, 0) : waiting(facts, container, old);
  const base: ContainerStatus = old ?? unseen;
  const wasRunning = old === undefined ? hadStarted : old.state?.running !== undefined;
  const code = facts.ending?.exitCode ?? 0;
  // Between two runs, the last run counts.
  const last = old?.lastState?.terminated;
  const terminated = wasRunning ? terminatedState(facts, base, code) : (last ?? notLocated);
  const lastShown = last === terminated ? {} : base.lastState;
  return {
    ...base,
    state: { terminated },
    lastState: lastShown ?? {},
    ready: false,
    started: false,
  };
}

const notLocated: ContainerStateTerminated = {
  exitCode: 137,
  reason: "ContainerStatusUnknown",
  message: "The container could not be located when the pod was terminated",
};

function created(facts: StatusFacts, container: Container, restartCount: number) {
  const image = container.image ?? "";
  return {
    name: container.name,
    image,
    imageID: `${image.split("@")[0] ?? ""}@sha256:${hexId(image)}`,
    containerID: containerId(facts.pod, container.name, restartCount),
    ready: false,
    restartCount,
  };
}

/** Returns the `lastState` of a container after `old` has stopped running. */
function lastState(facts: StatusFacts, old: Known): ContainerState {
  if (old?.state?.terminated !== undefined) return { terminated: old.state.terminated };
  if (old?.state?.running === undefined) return old?.lastState ?? {};
  return { terminated: terminatedState(facts, old, facts.ending?.exitCode ?? killedCode) };
}

/** Exit code that a shell reports for a program ended by SIGTERM. */
export const killedCode = 143;

function terminatedState(
  facts: StatusFacts,
  status: ContainerStatus,
  exitCode: number,
): ContainerStateTerminated {
  const now = formatTime(facts.nowMs);
  const { containerID } = status;
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    startedAt: status.state?.running?.startedAt ?? now,
    finishedAt: now,
    ...(containerID === undefined ? {} : { containerID }),
  };
}

/** While a resize is deferred or in progress, the container keeps its previous resources. */
function resourcesOf(facts: StatusFacts, container: Container, old: Known) {
  if (facts.run.resize !== undefined && old?.resources !== undefined) {
    const { resources, allocatedResources } = old;
    return { resources, ...(allocatedResources === undefined ? {} : { allocatedResources }) };
  }
  const { requests } = container.resources ?? {};
  const isUnderWay = facts.run.resizing !== undefined && old?.state?.running !== undefined;
  const given = isUnderWay ? old.resources : container.resources;
  return {
    resources: given ?? {},
    ...(requests === undefined ? {} : { allocatedResources: requests }),
  };
}

function containerId(pod: Pod, name: string, restarts: number): string {
  return `containerd://${hexId(`${pod.metadata?.uid ?? ""}/${name}/${restarts}`)}`;
}

/** Formats whole seconds as Go prints a duration: 10s, 1m20s, 5m0s. */
function goDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`;
}
