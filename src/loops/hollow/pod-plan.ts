/**
 * The life of a hollow pod as a pure step: from what is known and the time to what to do next.
 *
 *   accepted ─► [creating] ─► [initializing] ─► running ──(exit, policy lets it end)──► finished
 *                                  │  │   ▲      ▲ │ ▲
 *        (an image cannot be pulled)  ▼   │      │ │ └─(back-off over)── backoff
 *                                  pulling ──────┘ └─(exit, policy starts it again)─► backoff
 *   any ──(not admitted, deadline over)──► finished
 *   any ──(deletion asked for, stop time over)──► gone, by a DELETE without grace
 *
 * Holds  a status is written only when it differs from the last one written; at most two from bound
 *        to ready, one when starting takes no time and init containers take none. A stage that goes on
 *        is written again when the spec is a newer one than the last write observed.
 */
import type { Container, Pod, PodStatus } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import type { Rejection } from "./admission.ts";
import type { Ending, StatusFacts } from "./container-status.ts";
import { killedCode } from "./container-status.ts";
import type { ImagePatterns } from "./image-pull.ts";
import { cannotPull, firstPull, nextPull, pullEvents } from "./image-pull.ts";
import { podStatus, rejectedStatus } from "./pod-status.ts";
import type { InitRun, PodRun, PullRun, ResizePending } from "./pod-run.ts";
import { hasEnded, isSidecar, secondsOf } from "./pod-run.ts";
import { stopMsOf } from "./pod-stop.ts";
import type { Program } from "./program.ts";
import { initProgramOf } from "./program.ts";
import { resizeEvent, resizeMs, wantsResize } from "./resize.ts";
import { afterExit } from "./restart.ts";

type Step =
  /** Nothing to write. The pod is planned again after `afterMs`; undefined: only when it changes. */
  | { readonly kind: "wait"; readonly afterMs: number | undefined; readonly run: PodRun }
  /** Write `status`, after which `run` is the state; then send `events` and plan the pod again at once. */
  | {
      readonly kind: "write";
      readonly status: Partial<PodStatus>;
      readonly run: PodRun;
      readonly events: readonly PodEvent[];
    }
  | { readonly kind: "delete" };

export interface PodEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface PlanFacts {
  readonly pod: Pod;
  readonly run: PodRun;
  readonly program: Program;
  readonly hostAddress: string;
  readonly nowMs: number;
  readonly images: ImagePatterns;
  /** Minimum time for which resource claims still delay the pod. Absent: they do not. */
  readonly heldMs?: number;
  /** Why the node does not admit the pod. Absent: the node admits it. */
  readonly rejection?: Rejection;
  /** Set when the node has no room for the pod's resize. */
  readonly resize?: ResizePending;
}

const restartFirstMs = 10_000;
const restartMostMs = 300_000;
/** Approximate time that a kubelet needs to see that all containers have ended; as there, without back-off. */
const restartAllMs = 1_000;
/** Maximum stop time for which the generation of the deletion is not written to the status. */
const shortStopMs = 1_000;
/** Maximum wait; a longer wait is split, because its end may be beyond any valid time. */
const longestWaitMs = 86_400_000;

export function planPod(facts: PlanFacts): Step {
  const { pod, run, nowMs } = facts;
  if (run.stage !== "finished" && hasEnded(pod)) {
    return planPod({ ...facts, run: { ...bare(run), stage: "finished" } });
  }
  if (pod.metadata?.deletionTimestamp !== undefined) return planStop(facts);
  if (run.stage === "finished") return { kind: "wait", afterMs: undefined, run };
  if (facts.rejection !== undefined) return planRejection(facts, facts.rejection);
  if (nowMs >= deadlineOf(facts)) return planDeadline(facts);
  switch (run.stage) {
    case "accepted":
      return planStart(facts);
    case "creating":
      return planCreating(facts);
    case "initializing":
      return planInit(facts);
    case "pulling":
      return planPull(facts, mainContainers(pod));
    case "running":
      return planRunning(facts);
    case "backoff":
      return planBackoff(facts);
    default:
      return run.stage satisfies never;
  }
}

function planRejection(facts: PlanFacts, rejection: Rejection): Step {
  const run: PodRun = { ...bare(facts.run), stage: "finished" };
  const status = rejectedStatus(statusFacts(facts, run), rejection);
  return { kind: "write", status, run, events: [{ type: "Warning", ...rejection }] };
}

function planStart(facts: PlanFacts): Step {
  if (facts.program.startMs === 0 && (facts.heldMs ?? 0) === 0) return enterInit(facts, 0);
  return write(facts, { ...facts.run, stage: "creating" });
}

function planCreating(facts: PlanFacts): Step {
  const { run, program, nowMs, heldMs = 0 } = facts;
  const leftMs = Math.max(heldMs, run.acceptedMs + program.startMs - nowMs);
  return leftMs > 0 ? settle(facts, leftMs) : enterInit(facts, 0);
}

/** Passes sidecars and init containers that end at once in one step. */
function enterInit(facts: PlanFacts, from: number): Step {
  const containers = initContainers(facts.pod);
  for (let index = from; index < containers.length; index++) {
    const container = containers[index];
    if (container === undefined) break;
    if (!cannotPull(facts.images, container) && endsAtOnce(container)) continue;
    return startInit(facts, { index, restarts: 0 });
  }
  return startMain(facts);
}

function endsAtOnce(container: Container): boolean {
  if (isSidecar(container)) return true;
  const { runMs, exitCode } = initProgramOf(container);
  return runMs === 0 && exitCode === 0;
}

function startInit(
  facts: PlanFacts,
  at: { readonly index: number; readonly restarts: number },
): Step {
  const { nowMs, images, pod } = facts;
  const stage = "initializing" as const;
  const container = initContainers(pod)[at.index];
  if (container === undefined) return startMain(facts);
  if (cannotPull(images, container)) {
    const pull = firstPull([container], nowMs);
    const init: InitRun = { ...at, startedMs: 0, resumeMs: nowMs };
    return write(
      facts,
      { ...bare(facts.run), stage, init, pull },
      undefined,
      pullingEvents(pull, [container]),
    );
  }
  const init: InitRun = { ...at, startedMs: nowMs, resumeMs: nowMs };
  return write(facts, { ...bare(facts.run), stage, init });
}

function planInit(facts: PlanFacts): Step {
  const { run, nowMs, pod } = facts;
  const { init } = run;
  const container = initContainers(pod)[init?.index ?? 0];
  if (init === undefined || container === undefined) return startMain(facts);
  if (run.pull !== undefined) return planPull(facts, [container]);
  if (init.startedMs === 0) {
    if (nowMs < init.resumeMs) return settle(facts, init.resumeMs - nowMs);
    return startInit(facts, { index: init.index, restarts: init.restarts + 1 });
  }
  const { runMs = Infinity, exitCode } = initProgramOf(container);
  const leftMs = isSidecar(container) ? 0 : init.startedMs + runMs - nowMs;
  if (leftMs > 0) return settle(facts, leftMs);
  if (exitCode === 0 || isSidecar(container)) return enterInit(facts, init.index + 1);
  const next = afterExit(container, pod, exitCode);
  if (next === "stays") return finish(facts, { exitCode });
  if (next === "restarts-all") return restartAll(facts, exitCode);
  const delayMs = backOffMs(init.restarts);
  const waiting: PodRun = { ...run, init: { ...init, startedMs: 0, resumeMs: nowMs + delayMs } };
  return write(facts, waiting, { exitCode, delayMs });
}

/** Plans the pulls of `containers`, some of whose images cannot be pulled until the spec names other images. */
function planPull(facts: PlanFacts, containers: readonly Container[]): Step {
  const { run, nowMs, images } = facts;
  const failing = containers.filter((container) => cannotPull(images, container));
  if (failing.length === 0 || run.pull === undefined) {
    return enterInit(facts, run.init?.index ?? initContainers(facts.pod).length);
  }
  if (nowMs < run.pull.untilMs) return settle(facts, run.pull.untilMs - nowMs);
  const pull = nextPull(run.pull, nowMs);
  return write(facts, { ...run, pull }, undefined, pullingEvents(pull, failing));
}

function pullingEvents(pull: PullRun, failing: readonly Container[]): readonly PodEvent[] {
  return failing.flatMap((container) => pullEvents(container, pull));
}

function startMain(facts: PlanFacts): Step {
  const { nowMs, images, pod } = facts;
  const containers = mainContainers(pod);
  const failing = containers.filter((container) => cannotPull(images, container));
  const base = bare(facts.run);
  if (failing.length === 0) return write(facts, { ...base, stage: "running", startedMs: nowMs });
  const pull = firstPull(failing, nowMs);
  const startedMs = failing.length === containers.length ? 0 : nowMs;
  const run: PodRun = { ...base, stage: "pulling", startedMs, pull };
  return write(facts, run, undefined, pullingEvents(pull, failing));
}

function planRunning(facts: PlanFacts): Step {
  const { run, nowMs, images, pod } = facts;
  const exitMs = exitOf(facts);
  if (nowMs >= exitMs) return planExit(facts);
  if (isStale(facts) && mainContainers(pod).some((c) => cannotPull(images, c))) {
    return startMain(facts);
  }
  const ready = readiness(facts, run);
  if (ready !== run.ready) return write(facts, run);
  const readyMs = ready === "not-ready" ? run.startedMs + probeDelayMs(pod) : Infinity;
  return settle(facts, Math.min(exitMs, readyMs) - nowMs);
}

function exitOf({ run, program }: PlanFacts): number {
  if (run.stage !== "running" || program.runMs === undefined) return Infinity;
  return run.startedMs + program.runMs;
}

function planExit(facts: PlanFacts): Step {
  const { pod, program, run, nowMs } = facts;
  const { exitCode } = program;
  const next = mainContainers(pod).map((container) => afterExit(container, pod, exitCode));
  if (next.includes("restarts-all")) return restartAll(facts, exitCode);
  if (!next.includes("restarts")) return finish(facts, { exitCode });
  const delayMs = backOffMs(run.restarts);
  const resumeMs = nowMs + delayMs;
  return write(facts, { ...run, stage: "backoff", resumeMs }, { exitCode, delayMs });
}

/** Ends all containers, after which the pod restarts in place, with its init containers. */
function restartAll(facts: PlanFacts, exitCode: number): Step {
  const { run, nowMs } = facts;
  const resumeMs = nowMs + restartAllMs;
  const next: PodRun = { ...bare(run), stage: "backoff", resumeMs, restartsAll: true };
  return write(facts, next, { exitCode });
}

function backOffMs(restarts: number): number {
  return Math.min(restartMostMs, restartFirstMs * 2 ** Math.min(restarts, 10));
}

function planBackoff(facts: PlanFacts): Step {
  const leftMs = facts.run.resumeMs - facts.nowMs;
  if (leftMs > 0) return settle(facts, leftMs);
  const run: PodRun = { ...facts.run, restarts: facts.run.restarts + 1 };
  return run.restartsAll === true ? enterInit({ ...facts, run }, 0) : startMain({ ...facts, run });
}

function planDeadline(facts: PlanFacts): Step {
  const reason = "DeadlineExceeded";
  const message = "Pod was active on the node longer than the specified deadline";
  const events: PodEvent[] = [{ type: "Normal", reason, message }];
  return finish(facts, { exitCode: killedCode, reason, message }, events);
}

/** Ends the pod. `init` in the run records that the pod's main containers never started. */
function finish(facts: PlanFacts, ending: Ending, events: readonly PodEvent[] = []): Step {
  const { run, pod, nowMs } = facts;
  const isEarly = run.stage === "accepted" || run.stage === "creating";
  const init: InitRun = { index: 0, startedMs: 0, resumeMs: nowMs, restarts: 0 };
  const held = isEarly && initContainers(pod).length > 0 ? { init } : {};
  return write(facts, { ...run, ...held, stage: "finished" }, ending, events);
}

/** Ends a deleted pod with a last status, because the owners of finalizers need to see how it ended. */
function planStop(facts: PlanFacts): Step {
  const { pod, program, nowMs } = facts;
  if (facts.run.stage === "finished") return { kind: "delete" };
  const stoppingMs = facts.run.stoppingMs === 0 ? nowMs : facts.run.stoppingMs;
  const stopping = { ...facts, run: { ...facts.run, stoppingMs } };
  const endMs = Math.min(exitOf(facts), stoppingMs + stopMsOf(pod, program));
  if (endMs > nowMs && hasRunning(stopping.run)) {
    const leftMs = endMs - nowMs;
    if (leftMs > shortStopMs && isStale(stopping)) return write(stopping, stopping.run);
    return wait(stopping.run, leftMs);
  }
  const watched = (pod.metadata?.finalizers ?? []).length > 0;
  return watched ? finish(stopping, { exitCode: killedCode }) : { kind: "delete" };
}

function hasRunning({ stage, startedMs, init }: PodRun): boolean {
  if (stage === "initializing") return init !== undefined && init.startedMs > 0;
  return stage === "running" || (stage === "pulling" && startedMs > 0);
}

/** Keeps the stage for `forMs`, or until the deadline. */
function settle(facts: PlanFacts, forMs: number): Step {
  const { run, nowMs, resize } = facts;
  if (isStale(facts)) return resize === undefined ? planSpec(facts) : planDeferral(facts, resize);
  const doneMs = run.resizing?.untilMs ?? Infinity;
  if (nowMs >= doneMs) return planResized(facts);
  return wait(run, Math.min(forMs, deadlineOf(facts) - nowMs, doneMs - nowMs));
}

/** Applies a newer spec, for whose resources the node has room. */
function planSpec(facts: PlanFacts): Step {
  const { pod, run, nowMs } = facts;
  if (run.stage !== "running" || !wantsResize(pod)) return write(facts, run);
  const generation = Number(pod.metadata?.generation ?? 0);
  const message = resizeEvent(pod, "started", { generation });
  const next: PodRun = { ...run, resizing: { untilMs: nowMs + resizeMs, generation } };
  return write(facts, next, undefined, [{ type: "Normal", reason: "ResizeStarted", message }]);
}

function planResized(facts: PlanFacts): Step {
  const { resizing, ...run } = facts.run;
  const message = resizeEvent(facts.pod, "completed", { generation: resizing?.generation ?? 0 });
  return write(facts, run, undefined, [{ type: "Normal", reason: "ResizeCompleted", message }]);
}

function planDeferral(facts: PlanFacts, { message: error }: ResizePending): Step {
  const { pod, run } = facts;
  const generation = Number(pod.metadata?.generation ?? 0);
  if (run.resize !== undefined && generation <= run.observed) return write(facts, run);
  const message = resizeEvent(pod, "Deferred", { generation, error });
  return write(facts, run, undefined, [{ type: "Warning", reason: "ResizeDeferred", message }]);
}

function wait(run: PodRun, forMs: number): Step {
  if (forMs === Infinity) return { kind: "wait", afterMs: undefined, run };
  return { kind: "wait", afterMs: Math.min(longestWaitMs, Math.max(1, forMs)), run };
}

/** Whether the last status was made from an older spec or from another answer of the node. */
function isStale({ pod, run, resize }: PlanFacts): boolean {
  if ((pod.metadata?.generation ?? 0) > run.observed) return true;
  return resize?.message !== run.resize?.message;
}

function write(
  facts: PlanFacts,
  next: PodRun,
  ending?: Ending,
  events: readonly PodEvent[] = [],
): Step {
  const { resize: _, resizing, ...rest } = next;
  const observed = Math.max(next.observed, facts.pod.metadata?.generation ?? 0);
  const held = facts.resize === undefined ? {} : { resize: facts.resize };
  const ready = readiness(facts, next);
  // Restarted containers have the new amounts at once.
  const going = resizing === undefined || next.stage !== "running" ? {} : { resizing };
  const run: PodRun = { ...rest, ...held, ...going, observed, ready };
  return { kind: "write", status: podStatus(statusFacts(facts, run, ending)), run, events };
}

function statusFacts(facts: PlanFacts, run: PodRun, ending?: Ending): StatusFacts {
  const { pod, hostAddress, nowMs, images } = facts;
  const isAnew = facts.run.restartsAll === true && run.restartsAll === undefined;
  return {
    pod,
    run,
    hostAddress,
    nowMs,
    images,
    ...given({ ending }),
    ...(isAnew ? { isRestartingAll: true } : {}),
  };
}

/** Removes the fields that are valid only during a part of the start. */
function bare(run: PodRun): PodRun {
  const { init: _init, pull: _pull, restartsAll: _all, ...rest } = run;
  return rest;
}

function mainContainers(pod: Pod): readonly Container[] {
  return pod.spec?.containers ?? [];
}

function initContainers(pod: Pod): readonly Container[] {
  return pod.spec?.initContainers ?? [];
}

function deadlineOf({ pod, run }: PlanFacts): number {
  const seconds = pod.spec?.activeDeadlineSeconds;
  return seconds === undefined ? Infinity : run.acceptedMs + secondsOf(seconds) * 1_000;
}

function readiness(facts: PlanFacts, run: PodRun): PodRun["ready"] {
  if (run.stage !== "running" && run.stage !== "pulling") return "not-ready";
  if (facts.nowMs < run.startedMs + probeDelayMs(facts.pod)) return "not-ready";
  const conditions = facts.pod.status?.conditions ?? [];
  const open = (facts.pod.spec?.readinessGates ?? []).every((gate) =>
    conditions.some((c) => c.type === gate.conditionType && c.status === "True"),
  );
  return open ? "ready" : "gates-not-ready";
}

/** Returns the delay of the probes, which succeed at their first attempt. */
function probeDelayMs(pod: Pod): number {
  let seconds = 0;
  for (const { readinessProbe, startupProbe } of mainContainers(pod)) {
    const delay =
      (startupProbe?.initialDelaySeconds ?? 0) + (readinessProbe?.initialDelaySeconds ?? 0);
    seconds = Math.max(seconds, delay);
  }
  return seconds * 1_000;
}
