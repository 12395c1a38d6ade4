/**
 * Plans the next step of a StatefulSet, pure: its creates and deletes, from the cached pods.
 *
 * Holds  OrderedReady: pod n is created only when all below are available, and deleted only when all
 *        above are gone; at most one pod changes at any time. Parallel: no order on scaling.
 *        A rolling update replaces from the highest ordinal down to the partition, one at a time, and
 *        waits for each replaced pod to be available.
 * After  upstream's stateful_set_control.go with its default gates (no maxUnavailable).
 */
import type { Pod, StatefulSet } from "#api/gen/types.ts";
import { isAvailable, isFinished, isGoing } from "../pods/pod.ts";
import { ordinalOf, ordinalsOf, revisionOfPod } from "./identity.ts";

export interface StatefulInput {
  readonly set: StatefulSet;
  /** Pods controlled by the set, in any order. */
  readonly pods: readonly Pod[];
  /** Revision names: of pods below the partition, and of the current template. */
  readonly currentRevision: string;
  readonly updateRevision: string;
  /** Number of name collisions with revisions of other templates; never less than in the status. */
  readonly collisions: number;
  readonly nowMs: number;
}

export interface StatefulPlan {
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  readonly remove: readonly Pod[];
}

/** `stop`: an ordered set ends the reconcile once a step has acted or waits. */
interface Step extends StatefulPlan {
  readonly stop: boolean;
}

const nothing: Step = { create: [], remove: [], stop: false };

export function planStateful(input: StatefulInput): StatefulPlan {
  const { slots, surplus } = place(input);
  const ordered = input.set.spec?.podManagementPolicy !== "Parallel";
  const filling = fillSlots(input, slots, ordered);
  if (filling.stop) return planOf([filling]);
  const shrinking = ordered ? shrinkOne(input, surplus) : shrinkAll(surplus);
  if (shrinking.stop) return planOf([filling, shrinking]);
  return planOf([filling, shrinking, rollingUpdate(input, slots)]);
}

function planOf(steps: readonly Step[]): StatefulPlan {
  const create = steps.flatMap((step) => step.create);
  return { create, remove: [...new Set(steps.flatMap((step) => step.remove))] };
}

/** Pods by wanted ordinal, and the surplus ones, highest ordinal first. */
function place({ set, pods }: StatefulInput) {
  const { start, end } = ordinalsOf(set);
  const ordinal = (pod: Pod): number => ordinalOf(set, pod) ?? -1;
  const members = pods.filter((pod) => ordinal(pod) >= 0);
  const wanted = (pod: Pod): boolean => ordinal(pod) >= start && ordinal(pod) < end;
  return {
    slots: new Map(members.filter(wanted).map((pod) => [ordinal(pod), pod])),
    surplus: members.filter((pod) => !wanted(pod)).toSorted((a, b) => ordinal(b) - ordinal(a)),
  };
}

/** Creates missing pods and replaces finished ones, from the lowest ordinal up. */
function fillSlots(input: StatefulInput, slots: ReadonlyMap<number, Pod>, ordered: boolean): Step {
  const { start, end } = ordinalsOf(input.set);
  const create: { ordinal: number; revision: string }[] = [];
  const remove: Pod[] = [];
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = slots.get(ordinal);
    if (pod === undefined) create.push({ ordinal, revision: revisionFor(input, ordinal) });
    else if (isFinished(pod) && !isGoing(pod)) remove.push(pod);
    else if (isUp(input, pod)) continue;
    if (ordered) return { create, remove, stop: true };
  }
  return { create, remove, stop: false };
}

function shrinkAll(surplus: readonly Pod[]): Step {
  return { create: [], remove: surplus.filter((pod) => !isGoing(pod)), stop: false };
}

/** Deletes the highest surplus pod if it is up, or if all other surplus pods are up. */
function shrinkOne(input: StatefulInput, surplus: readonly Pod[]): Step {
  const highest = surplus[0];
  if (highest === undefined) return nothing;
  const waits: Step = { create: [], remove: [], stop: true };
  if (isGoing(highest)) return waits;
  const firstDown = surplus.findLast((pod) => !isAvailableNow(input, pod));
  if (!isUp(input, highest) && highest !== firstDown) return waits;
  return { create: [], remove: [highest], stop: true };
}

function rollingUpdate(input: StatefulInput, slots: ReadonlyMap<number, Pod>): Step {
  const { set } = input;
  if (set.spec?.updateStrategy?.type === "OnDelete") return nothing;
  const { start, end } = ordinalsOf(set);
  const partition = start + (set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
  for (let ordinal = end - 1; ordinal >= partition; ordinal--) {
    const pod = slots.get(ordinal);
    if (pod === undefined) return nothing;
    const old = revisionOfPod(pod) !== input.updateRevision;
    if (old && !isGoing(pod)) return { create: [], remove: [pod], stop: true };
    if (!isAvailableNow(input, pod)) return nothing;
  }
  return nothing;
}

/** Below the partition pods keep the old revision, even when they are created again. */
function revisionFor(
  { set, currentRevision, updateRevision }: StatefulInput,
  ordinal: number,
): string {
  const { type, rollingUpdate: rolling } = set.spec?.updateStrategy ?? {};
  if (type === "OnDelete") return updateRevision;
  const { start } = ordinalsOf(set);
  const kept = rolling === undefined ? (set.status?.currentReplicas ?? 0) : rolling.partition;
  return ordinal < start + (kept ?? 0) ? currentRevision : updateRevision;
}

/** Running, ready for long enough, and not being deleted. */
function isUp(input: StatefulInput, pod: Pod): boolean {
  return pod.status?.phase === "Running" && isAvailableNow(input, pod);
}

function isAvailableNow({ set, nowMs }: StatefulInput, pod: Pod): boolean {
  return !isGoing(pod) && isAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
}

/** Revisions that the history limit must not remove. */
export function revisionsInUse({
  pods,
  currentRevision,
  updateRevision,
}: StatefulInput): ReadonlySet<string> {
  return new Set([currentRevision, updateRevision, ...pods.map(revisionOfPod)]);
}
