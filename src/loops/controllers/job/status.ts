/**
 * The status of a Job, pure.
 *
 * Order  SuccessCriteriaMet is stored before Complete, FailureTarget before Failed. Complete and Failed
 *        come only when every pod is counted and none is terminating.
 */
import type { Job, JobCondition, JobStatus } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { findCondition, withCondition } from "#client/conditions.ts";
import { formatIndexes, type Indexes } from "./indexes.ts";
import { isConditionTrue, type Ending } from "./plan.ts";
import { tallyStatus, type Tally } from "./tally.ts";

interface StatusInput {
  readonly job: Job;
  readonly tally: Tally;
  readonly ending: Ending | undefined;
  /** For spec.backoffLimitPerIndex. */
  readonly failedIndexes: Indexes | undefined;
  /** Pods after the creates and deletes of this round. */
  readonly counts: {
    readonly active: number;
    readonly ready: number;
    readonly terminating: number;
  };
  /** False when this round could not manage pods, so that suspension stays unchanged. */
  readonly managed: boolean;
  readonly now: string;
}

export function jobStatus(input: StatusInput): JobStatus {
  const { job, tally, counts, now, failedIndexes } = input;
  const end = finalEnding(input);
  const conditions = conditionsOf(input, end);
  const startTime = startOf(input);
  return {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...given({ startTime }),
    ...(end?.type === "Complete" ? { completionTime: now } : {}),
    ...(counts.active === 0 ? {} : { active: counts.active }),
    ready: counts.ready,
    terminating: counts.terminating,
    ...tallyStatus(job, tally),
    ...(failedIndexes === undefined ? {} : { failedIndexes: formatIndexes(failedIndexes) }),
  };
}

/** The ending, once all pods are counted and gone. */
function finalEnding({ job, tally, ending, counts }: StatusInput): Ending | undefined {
  if (ending === undefined || !isConditionTrue(job, earlyOf(ending))) return undefined;
  const { succeeded, failed } = tally.uncounted;
  const open = succeeded.length + failed.length + counts.active + counts.terminating;
  return open > 0 || tally.hasMore ? undefined : ending;
}

function earlyOf({ type }: Ending): string {
  return type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
}

/** A suspended Job has no start time; a resumed one gets a new one, because its deadline restarts. */
function startOf({ job, ending, managed, now }: StatusInput): string | undefined {
  const started = job.status?.startTime;
  if (ending !== undefined) return started ?? now;
  if (job.spec?.suspend === true) return managed ? undefined : started;
  return managed && isConditionTrue(job, "Suspended") ? now : (started ?? now);
}

function conditionsOf(input: StatusInput, end: Ending | undefined): readonly JobCondition[] {
  const { job, ending, managed } = input;
  const old = job.status?.conditions ?? [];
  if (ending !== undefined) return endConditions(input, ending, end);
  return managed ? suspendConditions(input, old) : old;
}

function endConditions(
  input: StatusInput,
  ending: Ending,
  end: Ending | undefined,
): readonly JobCondition[] {
  const old = input.job.status?.conditions ?? [];
  const type = earlyOf(ending);
  const early = isConditionTrue(input.job, type)
    ? old
    : setCondition(input, old, { ...ending, type });
  return end === undefined ? early : setCondition(input, early, { ...ending, type: end.type });
}

function suspendConditions(
  input: StatusInput,
  old: readonly JobCondition[],
): readonly JobCondition[] {
  const type = "Suspended";
  const isSuspended = isConditionTrue(input.job, type);
  if ((input.job.spec?.suspend === true) === isSuspended) return old;
  return isSuspended
    ? setCondition(input, old, { type, reason: "JobResumed", message: "Job resumed" }, "False")
    : setCondition(input, old, { type, reason: "JobSuspended", message: "Job suspended" });
}

function setCondition(
  { now }: StatusInput,
  conditions: readonly JobCondition[],
  { type, reason, message }: Omit<Ending, "type"> & { readonly type: string },
  status: "True" | "False" = "True",
): readonly JobCondition[] {
  const times = { lastProbeTime: now, lastTransitionTime: now };
  return withCondition(conditions, { type, status, reason, message, ...times });
}

interface StatusEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Events for a change of the status. */
export function eventsOf(job: Job, status: JobStatus): readonly StatusEvent[] {
  const isNew = (type: string, to: string): boolean => {
    const before = findCondition(job.status?.conditions, type)?.status;
    return findCondition(status.conditions, type)?.status === to && before !== to;
  };
  return [
    ...(isNew("Suspended", "True") ? [normal("Suspended", "Job suspended")] : []),
    ...(isNew("Suspended", "False") ? [normal("Resumed", "Job resumed")] : []),
    ...(isNew("Complete", "True") ? completedEvents(job, status) : []),
    ...(isNew("Failed", "True") ? [failedEvent(status)] : []),
  ];
}

function normal(reason: string, message: string): StatusEvent {
  return { type: "Normal", reason, message };
}

function completedEvents(job: Job, status: JobStatus): readonly StatusEvent[] {
  const completed = normal("Completed", "Job completed");
  if ((status.succeeded ?? 0) <= (job.spec?.completions ?? Infinity)) return [completed];
  const message = "Too many succeeded pods running after completion count reached";
  return [{ type: "Warning", reason: "TooManySucceededPods", message }, completed];
}

function failedEvent(status: JobStatus): StatusEvent {
  const { reason = "", message = "" } = findCondition(status.conditions, "Failed") ?? {};
  return { type: "Warning", reason, message };
}
