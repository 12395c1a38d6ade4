/**
 * What a StatefulSet does next, pure: one look at its pods gives the creates and deletes of this step.
 *
 * Holds  OrderedReady: pod n is made only when all below are available, and pod n is removed only when
 *        all above are gone; at most one pod is on its way at any time. Parallel: no order on scaling.
 *        A rolling update replaces from the highest ordinal down to the partition, at most
 *        maxUnavailable unavailable at a time.
 */
import type { Pod, StatefulSet } from "#api/gen/types.ts";
import { isAvailable } from "../shared/pod.ts";
import { ordinalOf, ordinalsOf, revisionOfPod } from "./identity.ts";

export interface StatefulInput {
  readonly set: StatefulSet;
  /** Pods the set controls, in any order. */
  readonly pods: readonly Pod[];
  /** Names of the revisions: of pods below the partition, and of the present template. */
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly nowMs: number;
}

export interface StatefulPlan {
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  readonly remove: readonly Pod[];
}

const nothing: StatefulPlan = { create: [], remove: [] };

export function planStateful(input: StatefulInput): StatefulPlan {
  const { set } = input;
  const { start, end } = ordinalsOf(set);
  const slots = new Map<number, Pod>();
  const excess: Pod[] = [];
  for (const pod of input.pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal === undefined) continue;
    if (ordinal >= start && ordinal < end) slots.set(ordinal, pod);
    else excess.push(pod);
  }
  const isParallel = set.spec?.podManagementPolicy === "Parallel";
  const filling = fillSlots(input, slots, isParallel);
  if (filling.stop) return filling.plan;
  const shrinking = shrink(input, excess, isParallel);
  if (shrinking.stop) return merge(filling.plan, shrinking.plan);
  return merge(merge(filling.plan, shrinking.plan), rollingUpdate(input, slots));
}

interface Step {
  readonly plan: StatefulPlan;
  /** An ordered set does nothing more in this reconcile. */
  readonly stop: boolean;
}

/** Makes missing pods and replaces failed ones, from the lowest ordinal up. */
function fillSlots(
  input: StatefulInput,
  slots: ReadonlyMap<number, Pod>,
  isParallel: boolean,
): Step {
  const { start, end } = ordinalsOf(input.set);
  const create: { ordinal: number; revision: string }[] = [];
  const remove: Pod[] = [];
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = slots.get(ordinal);
    if (pod === undefined) create.push({ ordinal, revision: revisionFor(input, ordinal) });
    else if (isFinished(pod) && !isGoing(pod)) remove.push(pod);
    else if (isUp(input, pod)) continue;
    if (!isParallel) return { plan: { create, remove }, stop: true };
  }
  return { plan: { create, remove }, stop: create.length + remove.length > 0 };
}

/** Removes pods beyond the replicas, from the highest ordinal down. */
function shrink(input: StatefulInput, excess: readonly Pod[], isParallel: boolean): Step {
  const { set } = input;
  const order = excess.toSorted((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));
  if (order.length === 0) return { plan: nothing, stop: false };
  const remove = order.filter((pod) => !isGoing(pod));
  if (isParallel) return { plan: { create: [], remove }, stop: false };
  const highest = order[0];
  const next = highest !== undefined && !isGoing(highest) ? [highest] : [];
  return { plan: { create: [], remove: next }, stop: true };
}

function rollingUpdate(input: StatefulInput, slots: ReadonlyMap<number, Pod>): StatefulPlan {
  const { set } = input;
  if (set.spec?.updateStrategy?.type === "OnDelete") return nothing;
  const { start, end } = ordinalsOf(set);
  const rolling = set.spec?.updateStrategy?.rollingUpdate;
  const partition = Math.max(start, start + (rolling?.partition ?? 0));
  const unavailableMax = Math.max(1, scaled(rolling?.maxUnavailable ?? 1, end - start));
  let unavailable = [...slots.values()].filter((pod) => !isUp(input, pod)).length;
  const remove: Pod[] = [];
  for (let ordinal = end - 1; ordinal >= partition; ordinal--) {
    const pod = slots.get(ordinal);
    if (pod === undefined || isGoing(pod)) return { create: [], remove };
    if (revisionOfPod(pod) === input.updateRevision) {
      // Wait for what was replaced before going further down.
      if (!isUp(input, pod) && unavailable >= unavailableMax) return { create: [], remove };
      continue;
    }
    const wasDown = !isUp(input, pod);
    if (!wasDown && unavailable >= unavailableMax) break;
    remove.push(pod);
    if (!wasDown) unavailable++;
  }
  return { create: [], remove };
}

/** Below the partition pods keep the old revision, also when they are made anew. */
function revisionFor(
  { set, currentRevision, updateRevision }: StatefulInput,
  ordinal: number,
): string {
  if (set.spec?.updateStrategy?.type === "OnDelete") return updateRevision;
  const { start } = ordinalsOf(set);
  const partition = set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
  return ordinal < start + partition ? currentRevision : updateRevision;
}

export function isUp({ set, nowMs }: StatefulInput, pod: Pod): boolean {
  return (
    !isGoing(pod) &&
    pod.status?.phase === "Running" &&
    isAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)
  );
}

function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
}

function isGoing(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined;
}

function scaled(value: number | string, total: number): number {
  return typeof value === "number" ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100);
}

function merge(a: StatefulPlan, b: StatefulPlan): StatefulPlan {
  return { create: [...a.create, ...b.create], remove: [...a.remove, ...b.remove] };
}
