/**
 * The life of a hollow pod as a pure step: from what is known and the time to what to do next.
 *
 *   accepted ──(start time)──► running ──(exit, policy lets it end)──► finished
 *      └─► creating ─────────────┘ ▲ │
 *         (start takes a while)    │ └─(exit, policy starts it again)─► backoff ─┐
 *                                  └───────────────(back-off over)───────────────┘
 *   any ──(deletion asked for, stop time over)──► gone, by a DELETE without grace
 *
 * Holds  a status is written only when it differs from the last one written; at most two from bound
 *        to ready, one when starting takes no time.
 */
import type { Pod, PodStatus } from "#api/gen/types.ts";
import { parseTime } from "#api/time.ts";
import type { Program } from "./program.ts";
import type { PodRun, StatusFacts } from "./pod-status.ts";
import { backoffStatus, creatingStatus, finishedStatus, runningStatus } from "./pod-status.ts";

type Step =
  /** Nothing to write; look again after `afterMs`, or only when the pod changes. */
  | { readonly kind: "wait"; readonly afterMs: number | undefined; readonly run: PodRun }
  /** Once `status` is written `run` holds; then look again at once. */
  | { readonly kind: "write"; readonly status: Partial<PodStatus>; readonly run: PodRun }
  | { readonly kind: "delete" };

interface PlanFacts {
  readonly pod: Pod;
  readonly run: PodRun;
  readonly program: Program;
  readonly hostAddress: string;
  readonly nowMs: number;
}

const restartFirstMs = 10_000;
const restartMostMs = 300_000;
/** What a shell reports for a program ended by SIGTERM. */
const terminatedCode = 143;

export function planPod(facts: PlanFacts): Step {
  if (facts.pod.metadata?.deletionTimestamp !== undefined) return planStop(facts);
  switch (facts.run.stage) {
    case "accepted":
      return planStart(facts);
    case "creating":
      return planCreating(facts);
    case "running":
      return planRunning(facts);
    case "backoff":
      return planBackoff(facts);
    case "finished":
      return wait(facts);
    default:
      return facts.run.stage satisfies never;
  }
}

/** The run of a pod just seen: new, or read back from what a predecessor wrote. */
export function adoptRun(pod: Pod, address: string, nowMs: number): PodRun {
  const { status } = pod;
  const first = status?.containerStatuses?.[0];
  const startedMs = parseTime(first?.state?.running?.startedAt) ?? 0;
  const stage = adoptStage(pod, startedMs);
  const ready = status?.conditions?.find((c) => c.type === "Ready")?.status === "True";
  return {
    stage,
    acceptedMs: parseTime(status?.startTime) ?? nowMs,
    startedMs,
    resumeMs: nowMs,
    restarts: first?.restartCount ?? 0,
    address,
    ready: ready ? "ready" : "not-ready",
    stoppingMs: 0,
  };
}

function adoptStage(pod: Pod, startedMs: number): PodRun["stage"] {
  const phase = pod.status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return "finished";
  if (phase !== "Running") return "accepted";
  return startedMs > 0 ? "running" : "backoff";
}

function planStart(facts: PlanFacts): Step {
  if (facts.program.startMs === 0) return start(facts);
  const run: PodRun = { ...facts.run, stage: "creating" };
  return { kind: "write", status: creatingStatus(statusFacts(facts, run)), run };
}

function planCreating(facts: PlanFacts): Step {
  const leftMs = facts.run.acceptedMs + facts.program.startMs - facts.nowMs;
  return leftMs > 0 ? wait(facts, leftMs) : start(facts);
}

function start(facts: PlanFacts): Step {
  const begun: PodRun = { ...facts.run, stage: "running", startedMs: facts.nowMs };
  const run = { ...begun, ready: readiness(facts, begun) };
  return { kind: "write", status: runningStatus(statusFacts(facts, run), run.ready), run };
}

function planRunning(facts: PlanFacts): Step {
  const { run, program, nowMs } = facts;
  const exitMs = program.runMs === undefined ? Infinity : run.startedMs + program.runMs;
  const deadlineMs = deadlineOf(facts);
  if (nowMs >= Math.min(exitMs, deadlineMs)) {
    return deadlineMs < exitMs ? planDeadline(facts) : planExit(facts);
  }
  const ready = readiness(facts, run);
  if (ready !== run.ready) {
    const next = { ...run, ready };
    return { kind: "write", status: runningStatus(statusFacts(facts, next), ready), run: next };
  }
  const readyMs = ready === "not-ready" ? run.startedMs + probeDelayMs(facts.pod) : Infinity;
  const nextMs = Math.min(exitMs, deadlineMs, readyMs);
  return wait(facts, nextMs === Infinity ? undefined : Math.max(1, nextMs - nowMs));
}

function planExit(facts: PlanFacts): Step {
  const { exitCode } = facts.program;
  const policy = facts.pod.spec?.restartPolicy ?? "Always";
  const again = policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
  if (!again) return finish(facts, exitCode);
  const doubled = restartFirstMs * 2 ** Math.min(facts.run.restarts, 10);
  const delayMs = Math.min(restartMostMs, doubled);
  const resumeMs = facts.nowMs + delayMs;
  const run: PodRun = { ...facts.run, stage: "backoff", resumeMs, ready: "not-ready" };
  const status = backoffStatus(statusFacts(facts, run), exitCode, delayMs);
  return { kind: "write", status, run };
}

function planBackoff(facts: PlanFacts): Step {
  const leftMs = facts.run.resumeMs - facts.nowMs;
  if (leftMs > 0) return wait(facts, leftMs);
  return start({ ...facts, run: { ...facts.run, restarts: facts.run.restarts + 1 } });
}

function planDeadline(facts: PlanFacts): Step {
  return finish(facts, terminatedCode, {
    reason: "DeadlineExceeded",
    message: "Pod was active on the node longer than the specified deadline",
  });
}

function finish(
  facts: PlanFacts,
  exitCode: number,
  why?: { readonly reason: string; readonly message: string },
): Step {
  const run: PodRun = { ...facts.run, stage: "finished", ready: "not-ready" };
  return { kind: "write", status: finishedStatus(statusFacts(facts, run), exitCode, why), run };
}

/** Finalizers' owners want to see how the pod ended before it may go: they get a last status. */
function planStop(facts: PlanFacts): Step {
  const { pod, program, nowMs } = facts;
  const stoppingMs = facts.run.stoppingMs === 0 ? nowMs : facts.run.stoppingMs;
  const run = { ...facts.run, stoppingMs };
  if (run.stage === "finished") return { kind: "delete" };
  const graceMs = (pod.metadata?.deletionGracePeriodSeconds ?? 0) * 1_000;
  const leftMs = stoppingMs + Math.min(program.stopMs, graceMs) - nowMs;
  if (leftMs > 0 && run.stage === "running") return { kind: "wait", afterMs: leftMs, run };
  const watched = (pod.metadata?.finalizers ?? []).length > 0;
  return watched ? finish({ ...facts, run }, terminatedCode) : { kind: "delete" };
}

function wait(facts: PlanFacts, afterMs?: number): Step {
  return { kind: "wait", afterMs, run: facts.run };
}

function statusFacts(facts: PlanFacts, run: PodRun): StatusFacts {
  return { pod: facts.pod, run, hostAddress: facts.hostAddress, nowMs: facts.nowMs };
}

function deadlineOf({ pod, run }: PlanFacts): number {
  const seconds = pod.spec?.activeDeadlineSeconds;
  return seconds === undefined ? Infinity : run.acceptedMs + seconds * 1_000;
}

function readiness(facts: PlanFacts, run: PodRun): PodRun["ready"] {
  if (facts.nowMs < run.startedMs + probeDelayMs(facts.pod)) return "not-ready";
  const conditions = facts.pod.status?.conditions ?? [];
  const open = (facts.pod.spec?.readinessGates ?? []).every((gate) =>
    conditions.some((c) => c.type === gate.conditionType && c.status === "True"),
  );
  return open ? "ready" : "gates-not-ready";
}

/** Probes succeed the first time they are made. */
function probeDelayMs(pod: Pod): number {
  let seconds = 0;
  for (const { readinessProbe, startupProbe } of pod.spec?.containers ?? []) {
    const delay =
      (startupProbe?.initialDelaySeconds ?? 0) + (readinessProbe?.initialDelaySeconds ?? 0);
    seconds = Math.max(seconds, delay);
  }
  return seconds * 1_000;
}
