/**
 * Makes one decision for a group. Every Pod is decided, reserved and assumed in turn, so that the next one takes it
 * into account. At the end either enough Pods have a node, or all placements are undone.
 *
 * A large group takes several turns of the event loop: the decision is a generator that yields when its turn is over.
 * The cluster may change meanwhile, so gang-scheduler.ts checks the outcome again.
 * Holds  after "none", the cache, the reservations and the nominations are as before the decision, except for changes
 *        by others. The same holds when the generator is ended early or throws.
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
  /** Whether the decision must yield to other work. Absent: the decision is made in one turn. */
  readonly isTurnOver?: () => boolean;
  /** Whether the Pod is still part of this decision. Absent: every Pod is. */
  readonly isWaiting?: (info: PodInfo) => boolean;
}

/** A computation in turns: it yields at the end of each turn. */
export type InTurns<T> = Generator<undefined, T, undefined>;

export interface Placement {
  readonly info: PodInfo;
  readonly nodeName: string;
  readonly reservations: readonly Reservation[];
  /** Node that was nominated for the Pod before. Undefined: none. */
  readonly nominated: string | undefined;
}

export interface RefusedMember {
  readonly info: PodInfo;
  readonly error: FitError;
  /** Slots of nodes that preemption might make feasible. */
  readonly slots: readonly number[];
}

export interface Trial {
  /** Placements, assumed in the cache, in the order of the Pods. */
  readonly placements: Placement[];
  /** Pods that fit no node; incomplete when the trial ended early. */
  readonly refused: RefusedMember[];
}

/**
 * The placed Pods stay assumed: the caller then calls `takeBack`, or binds them. `among`: the nodes to examine,
 * requested again in each turn.
 */
export function* tryMembers(
  deps: GangDeps,
  members: readonly PodInfo[],
  needed: number,
  among?: () => Int32Array,
): InTurns<Trial> {
  const trial: Trial = { placements: [], refused: [] };
  let isWhole = false;
  try {
    let left = members.length;
    for (const info of members) {
      if (trial.placements.length + left-- < needed) break;
      if (deps.isTurnOver?.() === true) yield;
      if (deps.isWaiting?.(info) === false) continue;
      const decision = deps.decider.decide(info, among?.());
      if (decision.kind === "none") trial.refused.push({ info, ...decision });
      else trial.placements.push(assumeMember(deps, info, decision.nodeName));
    }
    isWhole = true;
    return trial;
  } finally {
    if (!isWhole) takeBack(deps, trial);
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

/** Undoes the trial's assumptions, last first. Pods that were deleted or bound meanwhile are left unchanged. */
export function takeBack({ cache, nominations }: GangDeps, { placements }: Trial): void {
  for (const { info, nominated, reservations } of placements.toReversed()) {
    for (const reservation of reservations.toReversed()) reservation.unreserve();
    const isOurs = cache.isAssumed(info.uid);
    cache.forget(info.uid);
    if (nominated !== undefined && isOurs) nominations.set(info, nominated);
  }
}
