/**
 * The status of a Job, pure.
 *
 * Order  SuccessCriteriaMet stands in the store before Complete does, FailureTarget before Failed; the
 *        latter come only when every pod is counted and none is on its way out.
 */
import type { Job, JobCondition, JobStatus } from "#api/gen/types.ts";
import { findCondition, withCondition } from "../framework/conditions.ts";
import { formatIndexes, type Indexes } from "./indexes.ts";
import { isTrue, type Ending } from "./plan.ts";
import { tallyStatus, type Tally } from "./tally.ts";

export interface StatusInput {
  readonly job: Job;
  readonly tally: Tally;
  readonly ending: Ending | undefined;
  /** Of spec.backoffLimitPerIndex. */
  readonly failedIndexes: Indexes | undefined;
  /** Pods after what this round has made and deleted. */
  readonly counts: {
    readonly active: number;
    readonly ready: number;
    readonly terminating: number;
  };
  /** False when nothing was made or deleted in this round: suspension is then not judged. */
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
    ...(startTime === undefined ? {} : { startTime }),
    ...(end?.type === "Complete" ? { completionTime: now } : {}),
    ...(counts.active === 0 ? {} : { active: counts.active }),
    ready: counts.ready,
    terminating: counts.terminating,
    ...tallyStatus(job, tally),
    ...(failedIndexes === undefined ? {} : { failedIndexes: formatIndexes(failedIndexes) }),
  };
}

/** The ending, once nothing stands in its way. */
function finalEnding({ job, tally, ending, counts }: StatusInput): Ending | undefined {
  if (ending === undefined || !isTrue(job, earlyOf(ending))) return undefined;
  const { succeeded, failed } = tally.uncounted;
  const open = succeeded.length + failed.length + counts.active + counts.terminating;
  return open > 0 || tally.more ? undefined : ending;
}

function earlyOf({ type }: Ending): string {
  return type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
}

/** A suspended Job has no start; one that is resumed starts anew, for its deadline. */
function startOf({ job, ending, managed, now }: StatusInput): string | undefined {
  const started = job.status?.startTime;
  if (ending !== undefined) return started ?? now;
  if (job.spec?.suspend === true) return managed ? undefined : started;
  return managed && isTrue(job, "Suspended") ? now : (started ?? now);
}

function conditionsOf(input: StatusInput, end: Ending | undefined): readonly JobCondition[] {
  const { job, ending, managed, now } = input;
  const old = job.status?.conditions ?? [];
  const set = (all: readonly JobCondition[], fields: Omit<JobCondition, "lastProbeTime">) =>
    withCondition(all, { ...fields, lastProbeTime: now, lastTransitionTime: now });
  if (ending !== undefined) {
    const { reason, message } = ending;
    const early = isTrue(job, earlyOf(ending))
      ? old
      : set(old, { type: earlyOf(ending), status: "True", reason, message });
    return end === undefined
      ? early
      : set(early, { type: end.type, status: "True", reason, message });
  }
  if (!managed) return old;
  if (job.spec?.suspend === true) {
    const said = { reason: "JobSuspended", message: "Job suspended" };
    return isTrue(job, "Suspended")
      ? old
      : set(old, { type: "Suspended", status: "True", ...said });
  }
  const said = { reason: "JobResumed", message: "Job resumed" };
  return isTrue(job, "Suspended") ? set(old, { type: "Suspended", status: "False", ...said }) : old;
}

export interface Told {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The events to record for a change of the status. */
export function eventsOf(job: Job, status: JobStatus): readonly Told[] {
  const told: Told[] = [];
  const turned = (type: string, to: string): boolean => {
    const before = findCondition(job.status?.conditions, type)?.status;
    return findCondition(status.conditions, type)?.status === to && before !== to;
  };
  if (turned("Suspended", "True"))
    told.push({ type: "Normal", reason: "Suspended", message: "Job suspended" });
  if (turned("Suspended", "False"))
    told.push({ type: "Normal", reason: "Resumed", message: "Job resumed" });
  if (turned("Complete", "True")) {
    if ((status.succeeded ?? 0) > (job.spec?.completions ?? Number.POSITIVE_INFINITY)) {
      const message = "Too many succeeded pods running after completion count reached";
      told.push({ type: "Warning", reason: "TooManySucceededPods", message });
    }
    told.push({ type: "Normal", reason: "Completed", message: "Job completed" });
  }
  if (turned("Failed", "True")) {
    const { reason = "", message = "" } = findCondition(status.conditions, "Failed") ?? {};
    told.push({ type: "Warning", reason, message });
  }
  return told;
}
