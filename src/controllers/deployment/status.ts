/** The status of a Deployment, pure: counters, Available, Progressing with its deadline, failures. */
import type { Deployment, DeploymentStatus, ReplicaSet } from "#api/gen/types.ts";
import {
  findCondition,
  withReason,
  withoutCondition,
  type Condition,
} from "../framework/conditions.ts";
import { availableReplicas, boundsOf, specReplicas, sum } from "./sizes.ts";

export interface StatusInput {
  readonly deployment: Deployment;
  readonly newest: ReplicaSet | undefined;
  readonly all: readonly ReplicaSet[];
  /** Conditions as they stand, with what this reconcile already set (found, created, paused). */
  readonly conditions: readonly Condition[];
  readonly collisionCount: number | undefined;
  /** A rollout was worked on: progress is judged. Not while paused, scaling, or being deleted. */
  readonly rolling: boolean;
  readonly nowMs: number;
  readonly now: string;
}

/** spec.progressDeadlineSeconds at its largest means "none". */
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
    ...(input.collisionCount === undefined ? {} : { collisionCount: input.collisionCount }),
    conditions: conditions as NonNullable<DeploymentStatus["conditions"]>,
  };
}

/** The sum, once every ReplicaSet that was looked at says its part; one never looked at has none. */
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
  const times = { lastUpdateTime: now, lastTransitionTime: now };
  if (counters.available >= replicas - maxUnavailable) {
    const message = "Deployment has minimum availability.";
    return {
      type: "Available",
      status: "True",
      reason: "MinimumReplicasAvailable",
      message,
      ...times,
    };
  }
  const message = "Deployment does not have minimum availability.";
  return {
    type: "Available",
    status: "False",
    reason: "MinimumReplicasUnavailable",
    message,
    ...times,
  };
}

function progress(
  input: StatusInput,
  counters: Counters,
  conditions: readonly Condition[],
): readonly Condition[] {
  if (!hasDeadline(input.deployment)) return withoutCondition(conditions, "Progressing");
  const current = findCondition(conditions, "Progressing");
  const settled =
    counters.replicas === counters.updated && current?.reason === "NewReplicaSetAvailable";
  if (settled) return conditions;
  const set = (status: string, reason: string, text: string): Condition => ({
    type: "Progressing",
    status,
    reason,
    message: `${subjectOf(input)} ${text}`,
    lastUpdateTime: input.now,
    lastTransitionTime: input.now,
  });
  if (isComplete(input.deployment, counters)) {
    const next = set("True", "NewReplicaSetAvailable", "has successfully progressed.");
    return withReason(conditions, next);
  }
  if (hasProgressed(input.deployment, counters)) {
    const next = set("True", "ReplicaSetUpdated", "is progressing.");
    const lastTransitionTime =
      current?.status === "True" ? (current.lastTransitionTime ?? input.now) : input.now;
    return [...withoutCondition(conditions, "Progressing"), { ...next, lastTransitionTime }];
  }
  if (deadlineInMs(input.deployment, current, input.nowMs) > 0) return conditions;
  const timedOut = set("False", "ProgressDeadlineExceeded", "has timed out progressing.");
  return withReason(conditions, timedOut);
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

/** Every replica is of the newest template and available, and none of an older one is left. */
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

/** Time until the deadline strikes; infinite where it does not run. */
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
