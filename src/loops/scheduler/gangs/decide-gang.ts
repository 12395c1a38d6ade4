/**
 * One decision for a group, on one state of the cluster: every Pod is decided, reserved and assumed in turn, so that
 * the next one counts with it; then either enough have a node, or all of it is taken back.
 *
 * Holds  after "none" the cache, the reservations and the nominations are as before the question.
 * Cost   one decision per Pod; a trial ends as soon as too few Pods are left to reach `needed`.
 */
import type { Cache } from "../cache.ts";
import type { FitError } from "../fit-error.ts";
import type { Nominations } from "../nominations.ts";
import type { Reservation } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import type { ScheduleAlgorithm } from "../schedule-algorithm.ts";

export interface GangDeps {
  readonly cache: Cache;
  readonly decider: ScheduleAlgorithm;
  readonly nominations: Nominations;
}

export interface Placement {
  readonly info: PodInfo;
  readonly nodeName: string;
  readonly reservations: readonly Reservation[];
  /** Where room was kept for it before. */
  readonly nominated: string | undefined;
}

export interface RefusedMember {
  readonly info: PodInfo;
  readonly error: FitError;
  /** Nodes where taking Pods away might help it. */
  readonly slots: readonly number[];
}

export interface Trial {
  /** Assumed, in the order of the Pods. */
  readonly placements: Placement[];
  /** Those that no node took; after an early end not all of them. */
  readonly refused: RefusedMember[];
}

/** Leaves what it placed assumed: `takeBack` follows, or the binds. Takes it back itself when it throws. */
export function tryMembers(
  deps: GangDeps,
  members: readonly PodInfo[],
  needed: number,
  among?: Int32Array,
): Trial {
  const trial: Trial = { placements: [], refused: [] };
  try {
    for (const info of members) {
      if (members.length - trial.refused.length < needed) break;
      const decision = deps.decider.decide(info, among);
      if (decision.kind === "none") trial.refused.push({ info, ...decision });
      else trial.placements.push(assumeMember(deps, info, decision.nodeName));
    }
    return trial;
  } catch (error) {
    takeBack(deps, trial);
    throw error;
  }
}

export function isEnough({ placements }: Trial, needed: number): boolean {
  return placements.length > 0 && placements.length >= needed;
}

export function assumeMember(
  { cache, decider, nominations }: GangDeps,
  info: PodInfo,
  nodeName: string,
): Placement {
  const reservations = decider.reserve(info, nodeName);
  cache.assume(info, nodeName);
  const nominated = nominations.nodeOf(info.uid);
  if (nominated !== undefined) {
    nominations.delete(info.uid);
    cache.loosened++;
  }
  return { info, nodeName, reservations, nominated };
}

/** Forgets what the trial assumed, last first. */
export function takeBack({ cache, nominations }: GangDeps, { placements }: Trial): void {
  for (const { info, nominated, reservations } of placements.toReversed()) {
    for (const reservation of reservations.toReversed()) reservation.unreserve();
    cache.forget(info.uid);
    if (nominated !== undefined) nominations.set(info, nominated);
  }
}
