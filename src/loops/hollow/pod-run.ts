/**
 * What a hollow kubelet keeps of a pod between two looks at it.
 *
 * What its containers show (start times, restart counts, ids) is not kept: it is read off the status
 * last written, so that the next process goes on where this one stopped.
 */
import type { Container, ContainerStatus, Pod } from "#api/gen/types.ts";
import { parseTime } from "#api/values/time.ts";
import { given } from "#base/given.ts";

export const resizePending = "PodResizePending";
export const resizeInProgress = "PodResizeInProgress";

type Ready = "ready" | "not-ready" | "gates-not-ready";

/** State of a pod. Times are wall clock milliseconds, so that a restarted process can read them from the status. */
export interface PodRun {
  readonly stage:
    | "accepted"
    | "creating"
    | "initializing"
    | "pulling"
    | "running"
    | "backoff"
    | "finished";
  readonly acceptedMs: number;
  /** Time of the last start of the containers; 0 before. */
  readonly startedMs: number;
  /** End of the stage `backoff`. */
  readonly resumeMs: number;
  readonly restarts: number;
  readonly address: string;
  /** Readiness as last written. */
  readonly ready: Ready;
  /** Time at which the deletion was first seen; 0: not deleted. */
  readonly stoppingMs: number;
  /** metadata.generation for which the last status was written; 0: none. */
  readonly observed: number;
  /** Present while init containers run. */
  readonly init?: InitRun;
  /** Present while an image cannot be pulled. */
  readonly pull?: PullRun;
  /** Present in the stage `backoff` when all containers will restart, init containers too. */
  readonly restartsAll?: true;
  /** Present while a resize of the pod waits for room on the node. */
  readonly resize?: ResizePending;
  /** Present while running containers receive the resources that the node has granted. */
  readonly resizing?: Resizing;
}

export interface InitRun {
  /** Index of the current container; all containers before it have ended, or run as sidecars. */
  readonly index: number;
  /** Start time of the current container; 0: it waits for its back-off or its image. */
  readonly startedMs: number;
  readonly resumeMs: number;
  readonly restarts: number;
}

export interface PullRun {
  /** Number of failed pulls so far, at least 1. */
  readonly failures: number;
  /** Whether the kubelet waits before the next attempt: ImagePullBackOff instead of ErrImagePull. */
  readonly isBackingOff: boolean;
  /** End of this state; Infinity: it does not end by itself. */
  readonly untilMs: number;
}

/** Why a resize waits; its reason is always Deferred, as in the kubelet of 1.36. */
export interface ResizePending {
  readonly message: string;
}

export interface Resizing {
  /** Time at which the containers have the new resources. */
  readonly untilMs: number;
  /** metadata.generation of the spec that requested the resize. */
  readonly generation: number;
}

/** Returns the state of a pod at first sight: new, or read from the status that an earlier process wrote. */
export function adoptRun(pod: Pod, address: string, nowMs: number): PodRun {
  const { status } = pod;
  const first = status?.containerStatuses?.[0];
  const running = status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  const startedMs = parseTime(running?.state?.running?.startedAt) ?? 0;
  const ready = status?.conditions?.find((c) => c.type === "Ready")?.status === "True";
  const stage = adoptStage(pod, startedMs);
  const init = stage === "initializing" ? adoptInit(pod, nowMs) : undefined;
  const stopping = parseTime(pod.metadata?.deletionTimestamp);
  const graceMs = secondsOf(pod.metadata?.deletionGracePeriodSeconds) * 1_000;
  const acceptedMs = parseTime(status?.startTime) ?? nowMs;
  // A grace period longer than any time has no start time.
  const beganMs = Math.max(acceptedMs, (stopping ?? 0) - graceMs);
  return {
    stage,
    acceptedMs,
    startedMs,
    resumeMs: nowMs,
    restarts: first?.restartCount ?? 0,
    address,
    ready: ready ? "ready" : "not-ready",
    stoppingMs: stopping === undefined ? 0 : Math.min(nowMs, beganMs),
    observed: Number(status?.observedGeneration ?? 0),
    ...given({ init }),
    ...adoptResizing(pod, nowMs),
    ...(stage === "pulling" ? { pull: { failures: 1, isBackingOff: true, untilMs: nowMs } } : {}),
  };
}

function adoptResizing({ status }: Pod, nowMs: number): Pick<PodRun, "resizing"> {
  const known = status?.conditions?.find(({ type }) => type === resizeInProgress);
  if (known?.status !== "True") return {};
  return { resizing: { untilMs: nowMs, generation: Number(known.observedGeneration ?? 0) } };
}

const pullReasons = new Set(["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull"]);

function adoptStage(pod: Pod, startedMs: number): PodRun["stage"] {
  if (hasEnded(pod)) return "finished";
  const main = pod.status?.containerStatuses ?? [];
  if (main.some(({ state }) => pullReasons.has(state?.waiting?.reason ?? ""))) return "pulling";
  if (pod.status?.phase === "Running") return startedMs > 0 ? "running" : "backoff";
  const init = pod.status?.initContainerStatuses ?? [];
  return init.some(({ state }) => state?.waiting === undefined) ? "initializing" : "accepted";
}

function adoptInit(pod: Pod, nowMs: number): InitRun {
  const containers = pod.spec?.initContainers ?? [];
  const known = byName(pod.status?.initContainerStatuses);
  const found = containers.findIndex((c) => !isInitDone(c, known.get(c.name)));
  const index = found < 0 ? containers.length : found;
  const status = known.get(containers[index]?.name ?? "");
  return {
    index,
    startedMs: parseTime(status?.state?.running?.startedAt) ?? 0,
    resumeMs: nowMs,
    restarts: status?.restartCount ?? 0,
  };
}

function isInitDone(container: Container, status: ContainerStatus | undefined): boolean {
  if (isSidecar(container)) return status?.state?.running !== undefined;
  return status?.state?.terminated?.exitCode === 0;
}

/** Whether the phase is Succeeded or Failed, which is final, also when another client wrote it. */
export function hasEnded(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase === "Succeeded" || phase === "Failed";
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

export function byName(
  statuses: readonly ContainerStatus[] | undefined,
): ReadonlyMap<string, ContainerStatus> {
  return new Map((statuses ?? []).map((status) => [status.name, status]));
}

/** Returns a field in seconds, at least 0; a value that is not a number counts as 0. Any int64 is valid. */
export function secondsOf(value: number | bigint | undefined): number {
  const seconds = Number(value ?? 0);
  return seconds > 0 ? seconds : 0;
}
