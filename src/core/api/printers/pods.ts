/**
 * Pods: the Status column merges phase, reasons of init containers and containers, and deletion,
 * in upstream's order of decision; the comments say which case overrides which.
 */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodStatus,
  PodTemplate,
} from "../gen/types.ts";
import type { AnyObject } from "../object.ts";
import { ageOf, parseTime } from "../values/time.ts";
import {
  age,
  ageColumn,
  containerCells,
  formatLabels,
  nameColumn,
  nameOf,
  printer,
  text,
  wideText,
} from "./printer.ts";
import type { Cell, Printer, TableRowCondition } from "./printer.ts";

const podColumns = [
  nameColumn,
  text("Ready", "How many of the pod's containers are ready."),
  text("Status", "What the states of the pod and its containers amount to."),
  text("Restarts", "How often the pod's containers were restarted, and when one last was."),
  ageColumn,
  wideText("IP", "The pod's address, once it has one."),
  wideText("Node", "The node the pod is bound to."),
  wideText("Nominated Node", "The node that pods are being preempted on for this pod."),
  wideText("Readiness Gates", "How many of the pod's readiness gates are true."),
];

export const pods: Printer = {
  ...printer<Pod>(podColumns, podRow),
  conditions: podConditions,
};

export const podTemplates: Printer = printer<PodTemplate>(
  [
    nameColumn,
    text("Containers", "The names of the containers in the template."),
    text("Images", "The images of the containers in the template."),
    text("Pod Labels", "The labels of pods made from the template."),
  ],
  (object) => [
    nameOf(object),
    ...containerCells(object.template?.spec?.containers),
    formatLabels(object.template?.metadata?.labels),
  ],
);

function podConditions(object: AnyObject): readonly TableRowCondition[] {
  const phase = (object as unknown as Pod).status?.phase; // stored objects are of their kind
  if (phase !== "Succeeded" && phase !== "Failed") return [];
  const message = phase === "Succeeded" ? "The pod has completed successfully." : "The pod failed.";
  return [{ type: "Completed", status: "True", reason: phase, message }];
}

/** Summary of the container statuses, collected in one pass. */
interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  /** Milliseconds since 1970; undefined: no container was ever restarted. */
  lastRestartMs: number | undefined;
}

function podRow(pod: Pod, nowMs: number): readonly Cell[] {
  const summary = summarize(pod);
  const total = (pod.spec?.containers ?? []).length + restartable(pod).size;
  return [
    nameOf(pod),
    `${summary.ready}/${total}`,
    summary.reason,
    restartsText(summary, nowMs),
    age(pod, nowMs),
    pod.status?.podIPs?.[0]?.ip || pod.status?.podIP || "<none>",
    pod.spec?.nodeName || "<none>",
    pod.status?.nominatedNodeName || "<none>",
    readinessGates(pod),
  ];
}

function summarize(pod: Pod): Summary {
  const status: PodStatus = pod.status ?? {};
  const summary = { ...noRestarts, reason: podReason(status), ready: 0 };
  const side = { ...noRestarts };
  const initializing = addInitContainers(pod, status, summary, side);
  if (!initializing || conditionTrue(status, "Initialized")) {
    summary.restarts = side.restarts; // those of init containers no longer matter
    summary.lastRestartMs = side.lastRestartMs;
    addContainers(status, summary);
  }
  if (pod.metadata?.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") summary.reason = "Unknown";
    else if (!isTerminal(status)) summary.reason = "Terminating";
  }
  return summary;
}

function isTerminal(status: PodStatus): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function podReason(status: PodStatus): string {
  const gated = status.conditions?.some(
    (c) => c.type === "PodScheduled" && c.reason === "SchedulingGated",
  );
  return gated === true ? "SchedulingGated" : status.reason || status.phase || "";
}

interface Restarts {
  restarts: number;
  lastRestartMs: number | undefined;
}

const noRestarts: Restarts = { restarts: 0, lastRestartMs: undefined };

function addRestarts(to: Restarts, container: ContainerStatus): void {
  to.restarts += container.restartCount;
  const finished = parseTime(container.lastState?.terminated?.finishedAt);
  if (finished === undefined) return;
  if (to.lastRestartMs === undefined || finished > to.lastRestartMs) to.lastRestartMs = finished;
}

/** Init containers that go on running (sidecars), by name. */
function restartable(pod: Pod): ReadonlySet<string> {
  const always = (c: Container): boolean => c.restartPolicy === "Always";
  return new Set((pod.spec?.initContainers ?? []).filter(always).map((c) => c.name));
}

/** Adds init containers up to the first that is not done. @returns whether there is one. */
function addInitContainers(pod: Pod, status: PodStatus, summary: Summary, side: Restarts): boolean {
  const sidecars = restartable(pod);
  const total = (pod.spec?.initContainers ?? []).length;
  for (const [index, container] of (status.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(container.name);
    addRestarts(summary, container);
    if (isSidecar) addRestarts(side, container);
    if (container.state?.terminated?.exitCode === 0) continue;
    if (isSidecar && container.started === true) {
      if (container.ready) summary.ready += 1;
      continue;
    }
    summary.reason = initReason(container.state ?? {}, index, total);
    return true;
  }
  return false;
}

function initReason(state: ContainerState, index: number, total: number): string {
  const { terminated, waiting } = state;
  if (terminated !== undefined) return `Init:${terminatedReason(terminated)}`;
  const waits = waiting?.reason ?? "";
  if (waits !== "" && waits !== "PodInitializing") return `Init:${waits}`;
  return `Init:${index}/${total}`;
}

function terminatedReason(terminated: NonNullable<ContainerState["terminated"]>): string {
  if (terminated.reason !== undefined && terminated.reason !== "") return terminated.reason;
  const signal = terminated.signal ?? 0;
  return signal === 0 ? `ExitCode:${terminated.exitCode}` : `Signal:${signal}`;
}

/** From last to first, so that the reason of the first container that has one is shown. */
function addContainers(status: PodStatus, summary: Summary): void {
  let hasRunning = false;
  for (const container of (status.containerStatuses ?? []).toReversed()) {
    addRestarts(summary, container);
    const { waiting, terminated, running } = container.state ?? {};
    if (waiting?.reason !== undefined && waiting.reason !== "") summary.reason = waiting.reason;
    else if (terminated !== undefined) summary.reason = terminatedReason(terminated);
    else if (container.ready && running !== undefined) {
      hasRunning = true;
      summary.ready += 1;
    }
  }
  if (summary.reason !== "Completed" || !hasRunning) return;
  summary.reason = conditionTrue(status, "Ready") ? "Running" : "NotReady";
}

function conditionTrue(status: PodStatus, type: string): boolean {
  return status.conditions?.find((c) => c.type === type)?.status === "True";
}

function restartsText(summary: Summary, nowMs: number): string {
  const { restarts, lastRestartMs } = summary;
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${ageOf(new Date(lastRestartMs).toISOString(), nowMs)} ago)`;
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const met = gates.filter((gate) => conditionTrue(pod.status ?? {}, gate.conditionType));
  return `${met.length}/${gates.length}`;
}
