/**
 * Preemption: selects a node and the Pods of lower priority to remove from it so that a Pod fits.
 *
 * For each node where it might help: remove all Pods of lower priority. If the Pod then fits, put back as many as
 * possible, those protected by a disruption budget first, then by priority. Among all nodes choose the least disruptive
 * one: fewest violated budgets, lowest highest priority of a victim, lowest sum of priorities, fewest victims, latest
 * start. Filters run on the real sums, which are changed and restored, so the result is exact.
 * Bounds the number of candidates in `limits`; the search continues until one of them violates no budget.
 * After  k/k pkg/scheduler/framework/preemption.
 */
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";
import type { Cache } from "./cache.ts";
import type { ScheduleAlgorithm } from "./schedule-algorithm.ts";
import { candidatesWanted, type PreemptionLimits } from "./preemption-limits.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Preemption } from "./preemption-candidate.ts";

interface PreemptionDeps {
  readonly cache: Cache;
  readonly decider: ScheduleAlgorithm;
  /** Returns the disruption budgets of a namespace. */
  readonly budgets: (namespace: string) => readonly PodDisruptionBudget[];
  readonly limits: PreemptionLimits;
}

interface Preemptions {
  /** Candidates, best first. */
  readonly candidates: readonly Preemption[];
  /** By reason, in upstream's words: number of nodes where preemption does not help. */
  readonly refusals: ReadonlyMap<string, number>;
}

export function findPreemptions(
  deps: PreemptionDeps,
  info: PodInfo,
  slots: readonly number[],
): Preemptions {
  const wanted = candidatesWanted(deps.limits, slots.length);
  const candidates: Preemption[] = [];
  const refusals = new Map<string, number>();
  let isAnyWithinBudgets = false;
  for (const slot of slots) {
    const found = candidateOn(deps, info, slot);
    if ("refusals" in found) {
      for (const text of found.refusals) refusals.set(text, (refusals.get(text) ?? 0) + 1);
      continue;
    }
    candidates.push(found);
    isAnyWithinBudgets ||= found.budgetsBroken === 0;
    if (isAnyWithinBudgets && candidates.length >= wanted) break;
  }
  return { candidates: candidates.toSorted(compareCandidates), refusals };
}

/** Whether Pods that make room for the Pod are still terminating on its nominated node. */
export function isRoomComing(cache: Cache, info: PodInfo, nodeName: string): boolean {
  const slot = cache.nodes.slotOf(nodeName);
  if (slot === undefined) return false;
  for (const other of cache.podsOn(slot)) {
    if (other.isTerminating && other.priority < info.priority) return true;
  }
  return false;
}

interface NoCandidate {
  readonly refusals: readonly string[];
}

const noVictims: NoCandidate = { refusals: ["No preemption victims found for incoming pod"] };

function candidateOn(deps: PreemptionDeps, info: PodInfo, slot: number): Preemption | NoCandidate {
  const { cache, decider } = deps;
  const lower: PodInfo[] = [];
  for (const pod of cache.podsOn(slot)) if (pod.priority < info.priority) lower.push(pod);
  if (lower.length === 0) return noVictims;
  const podsBefore = cache.nodes.podsUsed[slot];
  for (const pod of lower) cache.lift(pod, slot);
  const away = new Set(lower);
  try {
    const lack = decider.refusalsOn(info, slot);
    if (lack.length > 0) return { refusals: lack };
    const { broken, kept } = splitByBudget(deps, lower);
    const victims: PodInfo[] = [];
    let budgetsBroken = 0;
    for (const pod of [...broken, ...kept]) {
      cache.putBack(pod, slot);
      away.delete(pod);
      if (decider.passes(info, slot)) continue;
      cache.lift(pod, slot);
      away.add(pod);
      victims.push(pod);
      if (broken.includes(pod)) budgetsBroken++;
    }
    if (victims.length === 0) return noVictims;
    victims.sort(byImportance);
    return { nodeName: cache.nodes.name(slot), victims, budgetsBroken };
  } finally {
    for (const pod of away) cache.putBack(pod, slot);
    assert(cache.nodes.podsUsed[slot] === podsBefore, "what was lifted is put back", { slot });
  }
}

/** Sorts the candidates, least harmful first, and the victims of each, most important first. */
export function sortPreemptions(candidates: readonly Preemption[]): readonly Preemption[] {
  const ordered = candidates.map((one) => ({
    ...one,
    victims: one.victims.toSorted(byImportance),
  }));
  return ordered.toSorted(compareCandidates);
}

/** Most important first: by priority, then by start time. */
function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const left = startOf(a);
  const right = startOf(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

function startOf(info: PodInfo): string {
  return info.pod.status?.startTime ?? "9";
}

/** Splits Pods into those whose eviction would violate a budget and the others; each most important first. */
function splitByBudget(deps: PreemptionDeps, pods: readonly PodInfo[]) {
  const broken: PodInfo[] = [];
  const kept: PodInfo[] = [];
  const left = new Map<PodDisruptionBudget, number>();
  for (const pod of [...pods].sort(byImportance)) {
    let breaks = false;
    for (const budget of budgetsOf(deps, pod)) {
      const allowed = (left.get(budget) ?? budget.status?.disruptionsAllowed ?? 0) - 1;
      left.set(budget, allowed);
      if (allowed < 0) breaks = true;
    }
    (breaks ? broken : kept).push(pod);
  }
  return { broken, kept };
}

function budgetsOf(deps: PreemptionDeps, pod: PodInfo): PodDisruptionBudget[] {
  return deps.budgets(pod.namespace).filter((budget) => {
    if (budget.status?.disruptedPods?.[pod.name] !== undefined) return false;
    const { selector } = budget.spec ?? {};
    if (selector === undefined) return false;
    const compiled = selectorFromLabelSelector(selector);
    // As upstream, a budget whose selector selects everything protects no Pod here.
    return compiled.requirements.length > 0 && labelsMatch(compiled, pod.labels);
  });
}

/** Negative when `a` is less harmful. */
function compareCandidates(a: Preemption, b: Preemption): number {
  return (
    a.budgetsBroken - b.budgetsBroken ||
    highest(a) - highest(b) ||
    priorities(a) - priorities(b) ||
    a.victims.length - b.victims.length ||
    compareStarts(a, b)
  );
}

function highest(candidate: Preemption): number {
  return candidate.victims[0]?.priority ?? 0;
}

/** Priorities are shifted, so that many Pods of negative priority do not seem cheaper than one. */
function priorities(candidate: Preemption): number {
  let sum = 0;
  for (const victim of candidate.victims) sum += victim.priority + 2 ** 31;
  return sum;
}

/** Compares the earliest start times of the victims of the highest priority; the node with the later one comes first. */
function compareStarts(a: Preemption, b: Preemption): number {
  const left = earliestStart(a);
  const right = earliestStart(b);
  return left > right ? -1 : left < right ? 1 : 0;
}

function earliestStart(candidate: Preemption): string {
  const [first] = candidate.victims;
  return first === undefined ? "9" : startOf(first);
}
