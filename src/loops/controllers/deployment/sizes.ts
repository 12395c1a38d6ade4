/**
 * The arithmetic of rollouts, pure: how many replicas each ReplicaSet of a Deployment should have.
 *
 * Holds  available pods >= replicas - maxUnavailable, all pods <= replicas + maxSurge, as far as the
 *        cluster lets us; a step never breaks a bound that holds, however old the statuses are.
 * After  upstream's deployment/rolling.go, sync.go and util/deployment_util.go.
 */
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import { parseInt32 } from "#api/go/go-integer.ts";
import { roundDownPercent, roundUpPercent } from "../scaling/percent.ts";
import { desiredAnnotation, maxAnnotation, oldestFirst } from "./revision.ts";

export interface Scale {
  readonly replicaSet: ReplicaSet;
  readonly replicas: number;
}

export interface Bounds {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

export function boundsOf(deployment: Deployment): Bounds {
  const replicas = deployment.spec?.replicas ?? 1;
  if (deployment.spec?.strategy?.type === "Recreate")
    return { replicas, maxSurge: 0, maxUnavailable: 0 };
  const rolling = deployment.spec?.strategy?.rollingUpdate;
  const maxSurge = roundUpPercent(rolling?.maxSurge ?? "25%", replicas);
  const asked = roundDownPercent(rolling?.maxUnavailable ?? "25%", replicas);
  // A rollout could never progress if both were zero.
  const maxUnavailable = maxSurge === 0 && asked === 0 ? 1 : asked;
  return { replicas, maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

export const specReplicas = (rs: ReplicaSet | undefined): number =>
  rs === undefined ? 0 : (rs.spec?.replicas ?? 1);
export const availableReplicas = (rs: ReplicaSet | undefined): number =>
  rs?.status?.availableReplicas ?? 0;

/** At most spec.replicas, because the status also counts pods about to be deleted. */
const keptAvailable = (rs: ReplicaSet): number => Math.min(availableReplicas(rs), specReplicas(rs));

export function sum(sets: readonly ReplicaSet[], count: (rs: ReplicaSet) => number): number {
  return sets.reduce((total, rs) => total + count(rs), 0);
}

/** New size of the newest ReplicaSet while `others` keep theirs. */
export function newReplicaSetSize(
  deployment: Deployment,
  newest: ReplicaSet | undefined,
  others: readonly ReplicaSet[],
): number {
  const bounds = boundsOf(deployment);
  const current = specReplicas(newest);
  if (deployment.spec?.strategy?.type === "Recreate") return bounds.replicas;
  if (current > bounds.replicas) return bounds.replicas;
  const total = current + sum(others, specReplicas);
  const room = bounds.replicas + bounds.maxSurge - total;
  if (room <= 0) return current;
  return current + Math.min(room, bounds.replicas - current);
}

/** Shrinks old ReplicaSets in this step: first unavailable replicas, then available ones. */
export function shrinkOld(
  deployment: Deployment,
  newest: ReplicaSet | undefined,
  olds: readonly ReplicaSet[],
): readonly Scale[] {
  const bounds = boundsOf(deployment);
  const minAvailable = bounds.replicas - bounds.maxUnavailable;
  const all = newest === undefined ? olds : [...olds, newest];
  const newUnavailable = specReplicas(newest) - (newest === undefined ? 0 : keptAvailable(newest));
  let budget = sum(all, specReplicas) - minAvailable - newUnavailable;
  if (budget <= 0) return [];
  const sizes = new Map(olds.map((rs) => [rs, specReplicas(rs)]));
  for (const rs of olds.toSorted(oldestFirst)) {
    const unhealthy = specReplicas(rs) - keptAvailable(rs);
    budget -= take(sizes, rs, Math.min(budget, unhealthy));
  }
  let spare = sum(all, keptAvailable) - minAvailable;
  for (const rs of olds.toSorted(oldestFirst)) {
    spare -= take(sizes, rs, Math.max(0, spare));
  }
  return [...sizes]
    .filter(([rs, size]) => size !== specReplicas(rs))
    .map(([replicaSet, replicas]) => ({ replicaSet, replicas }));
}

function take(sizes: Map<ReplicaSet, number>, rs: ReplicaSet, wanted: number): number {
  const size = sizes.get(rs) ?? 0;
  const taken = Math.min(size, wanted);
  sizes.set(rs, size - taken);
  return taken;
}

/** Whether spec.replicas changed since an active ReplicaSet was last sized. */
export function isScalingEvent(deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  const replicas = deployment.spec?.replicas ?? 1;
  return sets.some((rs) => {
    const desired = rs.metadata?.annotations?.[desiredAnnotation];
    const count = parseInt32(desired ?? "");
    return specReplicas(rs) > 0 && count !== undefined && count !== replicas;
  });
}

/** Distributes a change of spec.replicas during a rollout (or pause) proportionally. */
export function scaleProportionally(
  deployment: Deployment,
  newest: ReplicaSet | undefined,
  olds: readonly ReplicaSet[],
): readonly Scale[] {
  const bounds = boundsOf(deployment);
  const all = newest === undefined ? olds : [...olds, newest];
  const active = all.filter((rs) => specReplicas(rs) > 0);
  const single =
    active.length <= 1 ? (active[0] ?? newest ?? all.toSorted(oldestFirst).at(-1)) : undefined;
  if (single !== undefined) return [{ replicaSet: single, replicas: bounds.replicas }];
  if (isSaturated(deployment, newest)) {
    const rest = active.filter((rs) => rs !== newest);
    return rest.map((replicaSet) => ({ replicaSet, replicas: 0 }));
  }
  if (deployment.spec?.strategy?.type === "Recreate") return [];
  const allowed = bounds.replicas > 0 ? bounds.replicas + bounds.maxSurge : 0;
  const change = allowed - sum(active, specReplicas);
  return shareOut(active, change, bounds, deployment.status?.replicas ?? 0);
}

function isSaturated(deployment: Deployment, newest: ReplicaSet | undefined): boolean {
  const replicas = deployment.spec?.replicas ?? 1;
  return (
    newest !== undefined &&
    specReplicas(newest) === replicas &&
    newest.metadata?.annotations?.[desiredAnnotation] === String(replicas) &&
    availableReplicas(newest) === replicas
  );
}

/** Larger ReplicaSets get the larger share; among equals newer ones grow first, older ones shrink first. */
function shareOut(
  active: readonly ReplicaSet[],
  change: number,
  bounds: Bounds,
  total: number,
): readonly Scale[] {
  const sign = change > 0 ? -1 : 1;
  const order = active.toSorted(
    (a, b) => specReplicas(b) - specReplicas(a) || sign * oldestFirst(a, b),
  );
  let rest = change;
  const sizes = order.map((replicaSet) => {
    const part = proportion(replicaSet, bounds, rest, total);
    rest -= part;
    return { replicaSet, replicas: specReplicas(replicaSet) + part };
  });
  return sizes.map(({ replicaSet, replicas }, at) => ({
    replicaSet,
    replicas: Math.max(0, at === 0 ? replicas + rest : replicas),
  }));
}

/** `total`: the number of pods, used when the max-replicas annotation is missing. */
function proportion(rs: ReplicaSet, bounds: Bounds, rest: number, total: number): number {
  if (rest === 0) return 0;
  const size = specReplicas(rs);
  const wanted = bounds.replicas === 0 ? -size : fraction(rs, bounds, total) - size;
  return rest > 0 ? Math.max(0, Math.min(wanted, rest)) : Math.min(0, Math.max(wanted, rest));
}

function fraction(rs: ReplicaSet, bounds: Bounds, total: number): number {
  const annotated = parseInt32(rs.metadata?.annotations?.[maxAnnotation] ?? "") ?? 0;
  const before = annotated > 0 ? annotated : total;
  if (before === 0) return specReplicas(rs);
  return Math.round((specReplicas(rs) * (bounds.replicas + bounds.maxSurge)) / before);
}

function compareBig(a: bigint, b: bigint): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Finished ReplicaSets beyond spec.revisionHistoryLimit, oldest revisions first. */
export function beyondHistory(
  deployment: Deployment,
  olds: readonly ReplicaSet[],
  revision: (rs: ReplicaSet) => bigint,
): readonly ReplicaSet[] {
  const limit = deployment.spec?.revisionHistoryLimit ?? 10;
  const alive = olds.filter((rs) => rs.metadata?.deletionTimestamp === undefined);
  const excess = alive.length - limit;
  if (excess <= 0) return [];
  const order = alive.toSorted((a, b) => compareBig(revision(a), revision(b)) || oldestFirst(a, b));
  return order.slice(0, excess).filter((rs) => {
    const settled = rs.status?.observedGeneration ?? 0;
    return (
      specReplicas(rs) === 0 &&
      (rs.status?.replicas ?? 0) === 0 &&
      settled >= (rs.metadata?.generation ?? 0)
    );
  });
}
