/** Computes a due run of a CronJob: the Job to create and the Jobs to replace. Pure. */
import { CronError, isTimeZone } from "#api/values/cron.ts";
import type { CronJob, Job } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { isControlledBy, controllerReference } from "#client/owner.ts";
import { isFinishedJob } from "../job/plan.ts";
import { dueRun, jobNameAt, scheduledTimestamp, type Due } from "./plan.ts";

export const gvk = { group: "batch", version: "v1", kind: "CronJob" };

export interface CronEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface Run {
  readonly events: readonly CronEvent[];
  /** Jobs to delete before the new one is created. */
  readonly replaced: readonly Job[];
  readonly job: Job | undefined;
  /** Start time of the run that is due; undefined: none. */
  readonly scheduledMs: number | undefined;
  /** Whether the Job for that time already exists. */
  readonly hasStarted: boolean;
  /** Start time of the following run; undefined: none. */
  readonly nextMs: number | undefined;
}

interface RunInput {
  readonly cron: CronJob;
  /** The Jobs controlled by the CronJob. */
  readonly jobs: readonly Job[];
  /** A cached Job of the namespace, whatever its controller. */
  readonly findJob: (name: string) => Job | undefined;
  readonly nowMs: number;
}

const noRun: Run = {
  events: [],
  replaced: [],
  job: undefined,
  scheduledMs: undefined,
  hasStarted: false,
  nextMs: undefined,
};

export function planRun(input: RunInput): Run {
  const { due, events } = findDue(input);
  if (due === undefined || input.cron.spec?.suspend === true) return { ...noRun, events };
  const { scheduledMs, nextMs } = due;
  if (scheduledMs === undefined) return { ...noRun, events, nextMs };
  const start = planStart(input, scheduledMs);
  return { ...noRun, scheduledMs, nextMs, ...start, events: [...events, ...(start.events ?? [])] };
}

function findDue({ cron, nowMs }: RunInput): {
  readonly due?: Due;
  readonly events: readonly CronEvent[];
} {
  const zone = cron.spec?.timeZone;
  if (zone !== undefined && !isTimeZone(zone)) return { events: [unknownZone(zone)] };
  try {
    const due = dueRun(cron, nowMs);
    return { due, events: due.hasTooMany ? [tooManyMissed] : [] };
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    const schedule = JSON.stringify(cron.spec?.schedule ?? "");
    const message = `unparseable schedule: ${schedule} : ${error.message}`;
    return { events: [{ type: "Warning", reason: "UnparseableSchedule", message }] };
  }
}

function unknownZone(zone: string): CronEvent {
  const message = `invalid timeZone: ${JSON.stringify(zone)}: unknown time zone ${zone}`;
  return { type: "Warning", reason: "UnknownTimeZone", message };
}

const tooManyMissed: CronEvent = {
  type: "Warning",
  reason: "TooManyMissedTimes",
  message:
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
};

const alreadyActive: CronEvent = {
  type: "Normal",
  reason: "JobAlreadyActive",
  message: "Not starting job because prior execution is running and concurrency policy is Forbid",
};

function planStart({ cron, jobs, findJob }: RunInput, scheduledMs: number): Partial<Run> {
  const existing = findJob(jobNameAt(cron, scheduledMs));
  if (existing !== undefined) return { hasStarted: isControlledBy(existing, cron) };
  const running = jobs.filter((job) => !isFinishedJob(job));
  const policy = cron.spec?.concurrencyPolicy;
  if (policy === "Forbid" && running.length > 0) return { events: [alreadyActive] };
  return { job: makeJob(cron, scheduledMs), replaced: policy === "Replace" ? running : [] };
}

function makeJob(cron: CronJob, scheduledMs: number): Job {
  const { metadata, spec } = cron.spec?.jobTemplate ?? {};
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: jobNameAt(cron, scheduledMs),
      namespace: cron.metadata?.namespace ?? "",
      labels: { ...metadata?.labels },
      annotations: {
        ...metadata?.annotations,
        "batch.kubernetes.io/cronjob-scheduled-timestamp": scheduledTimestamp(cron, scheduledMs),
      },
      ownerReferences: [controllerReference(gvk, cron)],
    },
    ...given({ spec }),
  };
}
