/** Kinds that create pods: deployments, sets, jobs, cron jobs, and their revisions. */
import type {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  Job,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from "../gen/types.ts";
import {
  SelectorError,
  formatLabelSelector,
  printLabelSelector,
  selectorFromLabelSelector,
} from "../selectors/label-selector.ts";
import type { LabelSelectorSpec } from "../selectors/label-selector.ts";
import { parseApiVersion } from "../object.ts";
import { ageOf, humanDuration, parseTime } from "../values/time.ts";
import {
  age,
  ageColumn,
  boolean,
  containerCells,
  containerColumns,
  formatLabels,
  integer,
  nameColumn,
  nameOf,
  printer,
  text,
  wideText,
} from "./printer.ts";
import type { Cell, Printer } from "./printer.ts";

const selectorColumn = wideText("Selector", "The labels by which the pods are found.");

/** Upstream's generated conversions turn an absent selector text into this one. */
function selectorCell(selector: unknown): string {
  return formatLabelSelector(selector as LabelSelectorSpec | undefined); // validated when it was stored
}

export const deployments: Printer = printer<Deployment>(
  [
    nameColumn,
    text("Ready", "How many pods are ready, of how many wanted."),
    text("Up-to-date", "How many pods have the wanted template."),
    text("Available", "How many pods have been ready for long enough."),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  ({ spec, status, ...object }, nowMs) => [
    nameOf(object),
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    status?.updatedReplicas ?? 0,
    status?.availableReplicas ?? 0,
    age(object, nowMs),
    ...containerCells(spec?.template.spec?.containers),
    plainSelectorCell(spec?.selector),
  ],
);

/** Deployments show an empty selector as "", all others as `<none>`. */
function plainSelectorCell(selector: unknown): string {
  try {
    return printLabelSelector(selectorFromLabelSelector(selector as LabelSelectorSpec)); // as above
  } catch (error) {
    if (error instanceof SelectorError) return "<invalid>";
    throw error;
  }
}

const replicaColumns = [
  nameColumn,
  integer("Desired", "How many pods are wanted."),
  integer("Current", "How many pods there are."),
  integer("Ready", "How many pods are ready."),
  ageColumn,
  ...containerColumns,
  selectorColumn,
];

export const replicaSets: Printer = printer<ReplicaSet>(replicaColumns, (object, nowMs) =>
  replicaCells(object, nowMs, selectorCell(object.spec?.selector)),
);

export const replicationControllers: Printer = printer<ReplicationController>(
  replicaColumns,
  (object, nowMs) => replicaCells(object, nowMs, formatLabels(object.spec?.selector)),
);

function replicaCells(
  { spec, status, ...object }: ReplicaSet | ReplicationController,
  nowMs: number,
  selector: string,
): readonly Cell[] {
  return [
    nameOf(object),
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    age(object, nowMs),
    ...containerCells(spec?.template?.spec?.containers),
    selector,
  ];
}

export const statefulSets: Printer = printer<StatefulSet>(
  [
    nameColumn,
    text("Ready", "How many pods are ready, of how many wanted."),
    ageColumn,
    ...containerColumns,
  ],
  ({ spec, status, ...object }, nowMs) => [
    nameOf(object),
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    age(object, nowMs),
    ...containerCells(spec?.template.spec?.containers),
  ],
);

export const daemonSets: Printer = printer<DaemonSet>(
  [
    nameColumn,
    integer("Desired", "How many nodes should run the pod."),
    integer("Current", "How many nodes that should run the pod do."),
    integer("Ready", "On how many nodes the pod is ready."),
    integer("Up-to-date", "How many nodes run the wanted template."),
    integer("Available", "On how many nodes the pod has been ready for long enough."),
    text("Node Selector", "The labels a node must have to run the pod."),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  ({ spec, status, ...object }, nowMs) => [
    nameOf(object),
    status?.desiredNumberScheduled ?? 0,
    status?.currentNumberScheduled ?? 0,
    status?.numberReady ?? 0,
    status?.updatedNumberScheduled ?? 0,
    status?.numberAvailable ?? 0,
    formatLabels(spec?.template.spec?.nodeSelector),
    age(object, nowMs),
    ...containerCells(spec?.template.spec?.containers),
    selectorCell(spec?.selector),
  ],
);

export const jobs: Printer = printer<Job>(
  [
    nameColumn,
    text("Status", "Whether the job runs, is suspended, or how it ended."),
    text("Completions", "How many pods succeeded, of how many wanted."),
    text("Duration", "How long the job took, or has been running."),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  (job, nowMs) => [
    nameOf(job),
    jobStatus(job),
    jobCompletions(job),
    jobDuration(job, nowMs),
    age(job, nowMs),
    ...containerCells(job.spec?.template.spec?.containers),
    selectorCell(job.spec?.selector),
  ],
);

function jobStatus(job: Job): string {
  const holds = (type: string): boolean =>
    job.status?.conditions?.find((c) => c.type === type)?.status === "True";
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (job.metadata?.deletionTimestamp !== undefined) return "Terminating";
  if (holds("Suspended")) return "Suspended";
  return holds("FailureTarget") ? "FailureTarget" : "Running";
}

function jobCompletions(job: Job): string {
  const succeeded = job.status?.succeeded ?? 0;
  const wanted = job.spec?.completions;
  if (wanted !== undefined) return `${succeeded}/${wanted}`;
  const parallelism = job.spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: Job, nowMs: number): string {
  const start = parseTime(job.status?.startTime);
  if (start === undefined) return "";
  return humanDuration((parseTime(job.status?.completionTime) ?? nowMs) - start);
}

export const cronJobs: Printer = printer<CronJob>(
  [
    nameColumn,
    text("Schedule", "When jobs start, in Cron format."),
    text("Timezone", "The time zone of the schedule."),
    boolean("Suspend", "Whether no further jobs are started."),
    integer("Active", "How many jobs run now."),
    text("Last Schedule", "How long ago a job was last started."),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  (object, nowMs) => [...cronJobCells(object, nowMs)],
);

function cronJobCells(object: CronJob, nowMs: number): readonly Cell[] {
  const { spec, status } = object;
  const last = status?.lastScheduleTime;
  const template = spec?.jobTemplate.spec;
  return [
    nameOf(object),
    spec?.schedule ?? "",
    spec?.timeZone ?? "<none>",
    suspendCell(spec?.suspend),
    (status?.active ?? []).length,
    last === undefined ? "<none>" : ageOf(last, nowMs),
    age(object, nowMs),
    ...containerCells(template?.template.spec?.containers),
    selectorCell(template?.selector),
  ];
}

/** A text in a boolean column, as upstream has it. */
function suspendCell(suspend: boolean | undefined): string {
  if (suspend === undefined) return "<unset>";
  return suspend ? "True" : "False";
}

export const controllerRevisions: Printer = printer<ControllerRevision>(
  [
    nameColumn,
    text("Controller", "What the revision belongs to."),
    text("Revision", "The number of the revision."),
    ageColumn,
  ],
  (object, nowMs) => [nameOf(object), controllerCell(object), object.revision, age(object, nowMs)],
);

function controllerCell(object: ControllerRevision): string {
  const owner = object.metadata?.ownerReferences?.find((o) => o.controller === true);
  if (owner === undefined) return "<none>";
  const group = parseApiVersion(owner.apiVersion)?.group ?? "";
  const kind = group === "" ? owner.kind : `${owner.kind}.${group}`;
  return `${kind.toLowerCase()}/${owner.name}`;
}
