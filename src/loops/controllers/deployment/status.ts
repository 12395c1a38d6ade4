/** The status of a Deployment, pure: counters, Available, Progressing with its deadline, failures. */
import type { Deployment, DeploymentStatus, ReplicaSet } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { findCondition, withReason, withoutCondition, type Condition } from "#client/conditions.ts";
import { availableReplicas, boundsOf, specReplicas, sum } from "./sizes.ts";

export interface StatusInput {
  readonly deployment: Deployment;
  readonly newest: ReplicaSet | undefined;
  readonly all: readonly ReplicaSet[];
  /** The old conditions with changes by this reconcile (found, created, paused). */
  readonly conditions: readonly Condition[];
  readonly collisionCount: number | undefined;
  /** False while paused, scaling, or being deleted, when progress is not measured. */
  readonly rolling: boolean;
  readonly nowMs: number;
  readonly now: string;
}

/** The maximum progressDeadlineSeconds means that there is no deadline. */
const noDeadline = 2_147_483_647;

export function deploymentStatus(input: StatusInput): DeploymentStatus {
  const counters = countersOf(input);
  const withAvailable = withReason(input.conditions, availableCondition(input, counters));
  const conditions = input.rolling
    ? replicaFailure(input, progress(input, counters, withAvailable))
    : withAvailable;
  return {
    observedGeneration: input.deployment.metadata?.generation ?? 0,
    ...(counters.replicas === 0 ? {} : { replicas: counters.replicas }),
    ...(counters.updated === 0 ? {} : { updatedReplicas: counters.updated }),
    ...(counters.ready === 0 ? {} : { readyReplicas: counters.ready }),
    ...(counters.available === 0 ? {} : { availableReplicas: counters.available }),
    ...(counters.unavailable === 0 ? {} : { unavailableReplicas: counters.unavailable }),
    ...terminating(input.all),
    ...given({ collisionCount: input.collisionCount }),
    conditions: conditions as NonNullable<DeploymentStatus["conditions"]>,
  };
}

/** The sum, if every observed ReplicaSet reports its count. */
function terminating(all: readonly ReplicaSet[]): { readonly terminatingReplicas?: number } {
  const looked = all.filter((rs) => (rs.status?.observedGeneration ?? 0) !== 0);
  const parts = looked.map((rs) => rs.status?.terminatingReplicas);
  if (parts.includes(undefined)) return {};
  return { terminatingReplicas: parts.reduce<number>((total, part) => total + (part ?? 0), 0) };
}

interface Counters {
  readonly replicas: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  readonly unavailable: number;
}

function countersOf({ newest, all }: StatusInput): Counters {
  const replicas = sum(all, (rs) => rs.status?.replicas ?? 0);
  const available = sum(all, availableReplicas);
  const wanted = sum(all, specReplicas);
  return {
    replicas,
    updated: newest?.status?.replicas ?? 0,
    ready: sum(all, (rs) => rs.status?.readyReplicas ?? 0),
    available,
    unavailable: Math.max(0, wanted - available),
  };
}

function availableCondition({ deployment, now }: StatusInput, counters: Counters): Condition {
  const { replicas, maxUnavailable } = boundsOf(deployment);
  const isAvailable = counters.available >= replicas - maxUnavailable;
  return {
    type: "Available",
    status: isAvailable ? "True" : "False",
    reason: isAvailable ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    message: `Deployment ${isAvailable ? "has" : "does not have"} minimum availability.`,
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
}

function progress(
  input: StatusInput,
  counters: Counters,
  conditions: readonly Condition[],
): readonly Condition[] {
  const { deployment, nowMs } = input;
  if (!hasDeadline(deployment)) return withoutCondition(conditions, "Progressing");
  const current = findCondition(conditions, "Progressing");
  const isSettled =
    counters.replicas === counters.updated && current?.reason === "NewReplicaSetAvailable";
  if (isSettled) return conditions;
  if (isComplete(deployment, counters)) return withReason(conditions, completed(input));
  if (hasProgressed(deployment, counters)) return restartDeadline(input, conditions, current);
  if (deadlineInMs(deployment, current, nowMs) > 0) return conditions;
  return withReason(conditions, timedOut(input));
}

/** Any progress restarts the deadline, which counts from lastUpdateTime. */
function restartDeadline(
  input: StatusInput,
  conditions: readonly Condition[],
  current: Condition | undefined,
): readonly Condition[] {
  const next = progressing(input, "True", "ReplicaSetUpdated", "is progressing.");
  const since = current?.status === "True" ? current.lastTransitionTime : undefined;
  const lastTransitionTime = since ?? input.now;
  return [...withoutCondition(conditions, "Progressing"), { ...next, lastTransitionTime }];
}

function completed(input: StatusInput): Condition {
  return progressing(input, "True", "NewReplicaSetAvailable", "has successfully progressed.");
}

function timedOut(input: StatusInput): Condition {
  return progressing(input, "False", "ProgressDeadlineExceeded", "has timed out progressing.");
}

function progressing(input: StatusInput, status: string, reason: string, text: string): Condition {
  const message = `${subjectOf(input)} ${text}`;
  const times = { lastUpdateTime: input.now, lastTransitionTime: input.now };
  return { type: "Progressing", status, reason, message, ...times };
}

function subjectOf({ deployment, newest }: StatusInput): string {
  return newest === undefined
    ? `Deployment "${deployment.metadata?.name ?? ""}"`
    : `ReplicaSet "${newest.metadata?.name ?? ""}"`;
}

export function hasDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec?.progressDeadlineSeconds;
  return seconds !== undefined && seconds !== noDeadline;
}

/** Whether all replicas have the newest template and are available, and no older one is left. */
function isComplete(deployment: Deployment, counters: Counters): boolean {
  const replicas = deployment.spec?.replicas ?? 1;
  return (
    counters.updated === replicas &&
    counters.replicas === replicas &&
    counters.available === replicas
  );
}

export function isCompleteStatus(deployment: Deployment, status: DeploymentStatus): boolean {
  const { updatedReplicas = 0, replicas = 0, availableReplicas: available = 0 } = status;
  return isComplete(deployment, {
    updated: updatedReplicas,
    replicas,
    available,
    ready: 0,
    unavailable: 0,
  });
}

function hasProgressed(deployment: Deployment, next: Counters): boolean {
  const old = deployment.status ?? {};
  const oldUpdated = old.updatedReplicas ?? 0;
  return (
    next.updated > oldUpdated ||
    next.replicas - next.updated < (old.replicas ?? 0) - oldUpdated ||
    next.ready > (old.readyReplicas ?? 0) ||
    next.available > (old.availableReplicas ?? 0)
  );
}

/** Time until the progress deadline; infinite when there is none. */
export function deadlineInMs(
  deployment: Deployment,
  current: Condition | undefined,
  nowMs: number,
): number {
  const seconds = deployment.spec?.progressDeadlineSeconds;
  if (seconds === undefined || seconds === noDeadline || current === undefined)
    return Number.POSITIVE_INFINITY;
  if (deployment.spec?.paused === true || current.reason === "NewReplicaSetAvailable")
    return Number.POSITIVE_INFINITY;
  if (current.reason === "ProgressDeadlineExceeded") return 0;
  return Date.parse(current.lastUpdateTime ?? "") + seconds * 1000 - nowMs;
}

function replicaFailure(
  { newest, all }: StatusInput,
  conditions: readonly Condition[],
): readonly Condition[] {
  const failing = [newest, ...all].find(
    (rs) => findCondition(rs?.status?.conditions, "ReplicaFailure") !== undefined,
  );
  const failure = findCondition(failing?.status?.conditions, "ReplicaFailure");
  if (failure === undefined) return withoutCondition(conditions, "ReplicaFailure");
  const lastUpdateTime = failure.lastTransitionTime ?? "";
  return withReason(conditions, { ...failure, lastUpdateTime });
}
