/** The results of a Deployment's reconcile so far, and the status that reports them. Pure. */
import type { DeploymentStatus, ReplicaSet } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { findCondition, withReason, type Condition } from "#client/conditions.ts";
import { withNewest, type Rollout, type Step } from "./plan.ts";
import { deploymentStatus, hasDeadline, isCompleteStatus } from "./status.ts";

export interface Progress {
  /** As written last by this reconcile. */
  readonly newest: ReplicaSet | undefined;
  readonly conditions: readonly Condition[];
  readonly collisionCount: number | undefined;
  /** Annotated on the Deployment in the status write. */
  readonly revision: string | undefined;
  /** Whether this reconcile worked on a rollout, whose progress is measured against the deadline. */
  readonly isRolling: boolean;
  /** Thrown after the status is written. */
  readonly error?: unknown;
}

export function startProgress(rollout: Rollout, { name, isRolling }: Step): Progress {
  const { deployment, newest } = rollout;
  const { conditions = [], collisionCount } = deployment.status ?? {};
  const noted = name === "none" ? conditions : notePause(rollout, conditions);
  return { newest, conditions: noted, collisionCount, revision: undefined, isRolling };
}

/** Pausing and resuming restart the deadline unless it was exceeded. */
function notePause(rollout: Rollout, conditions: readonly Condition[]): readonly Condition[] {
  const reason = findCondition(conditions, "Progressing")?.reason;
  if (reason === "ProgressDeadlineExceeded") return conditions;
  const isPaused = rollout.deployment.spec?.paused === true;
  if (isPaused === (reason === "DeploymentPaused")) return conditions;
  return isPaused
    ? setProgressing(rollout, conditions, ["Unknown", "DeploymentPaused", "Deployment is paused"])
    : setProgressing(rollout, conditions, [
        "Unknown",
        "DeploymentResumed",
        "Deployment is resumed",
      ]);
}

/** The Progressing condition as [status, reason, message]; none without a deadline. */
export function setProgressing(
  { deployment, nowMs }: Rollout,
  conditions: readonly Condition[],
  [status, reason, message]: readonly [string, string, string],
): readonly Condition[] {
  if (!hasDeadline(deployment)) return conditions;
  const now = formatTime(nowMs);
  const times = { lastUpdateTime: now, lastTransitionTime: now };
  return withReason(conditions, { type: "Progressing", status, reason, message, ...times });
}

export function statusAfter(
  { deployment, olds, nowMs }: Rollout,
  progress: Progress,
): DeploymentStatus {
  const { isRolling: rolling, ...known } = progress;
  const all = withNewest(olds, progress.newest);
  return deploymentStatus({ ...known, deployment, all, rolling, nowMs, now: formatTime(nowMs) });
}

export function mayCleanUp(rollout: Rollout, step: Step, progress: Progress): boolean {
  if (step.cleanUp !== "whenComplete") return step.cleanUp === "always";
  return isCompleteStatus(rollout.deployment, statusAfter(rollout, progress));
}
