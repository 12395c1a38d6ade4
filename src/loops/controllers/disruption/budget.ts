/** What a PodDisruptionBudget allows right now, pure. */
import type { Pod, PodDisruptionBudget } from "#api/gen/types.ts";
import { roundUpPercent } from "../scaling/percent.ts";
import { isReady } from "../pods/pod.ts";

export interface BudgetStatus {
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  readonly disruptionsAllowed: number;
  /** Evictions granted whose pods are not seen to go yet, by pod name: kept from the old status. */
  readonly disruptedPods?: Readonly<Record<string, string>>;
}

/** A granted eviction counts this long; after it the pod is taken to have stayed. */
export const disruptionTimeoutMs = 2 * 60_000;

/** `expected` matters only where `needsExpected`. */
export function budgetStatus(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  expected: number,
  nowMs: number,
): BudgetStatus {
  const disrupted = stillDisrupted(budget, pods, nowMs);
  const healthy = pods.filter((pod) => isReady(pod) && !isGoing(pod, disrupted)).length;
  const { expectedPods, desiredHealthy } = computeDesired(budget, pods.length, expected);
  // A budget that matches nothing (yet) allows nothing: pods may be on their way.
  const allowed = expectedPods <= 0 ? 0 : Math.max(0, healthy - desiredHealthy);
  return {
    currentHealthy: healthy,
    desiredHealthy,
    expectedPods,
    disruptionsAllowed: allowed,
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
  };
}

/** An absolute minAvailable speaks of the pods there are; all else of those that are wanted. */
export function needsExpected(budget: PodDisruptionBudget): boolean {
  const { minAvailable, maxUnavailable } = budget.spec ?? {};
  return maxUnavailable !== undefined || typeof minAvailable === "string";
}

/** When the first granted eviction is given up; undefined: none is pending. */
export function recheckInMs(status: BudgetStatus, nowMs: number): number | undefined {
  const times = Object.values(status.disruptedPods ?? {}).map((time) => Date.parse(time));
  return times.length === 0 ? undefined : Math.min(...times) + disruptionTimeoutMs - nowMs + 1;
}

/** Percentages of a budget round up, both ways, as upstream. */
function computeDesired(
  budget: PodDisruptionBudget,
  matched: number,
  expected: number,
): { readonly expectedPods: number; readonly desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = budget.spec ?? {};
  if (maxUnavailable !== undefined) {
    const desiredHealthy = Math.max(0, expected - roundUpPercent(maxUnavailable, expected));
    return { expectedPods: expected, desiredHealthy };
  }
  if (typeof minAvailable === "number")
    return { expectedPods: matched, desiredHealthy: minAvailable };
  if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  return { expectedPods: expected, desiredHealthy: roundUpPercent(minAvailable, expected) };
}

function isGoing(pod: Pod, disrupted: Readonly<Record<string, string>>): boolean {
  return (
    pod.metadata?.deletionTimestamp !== undefined ||
    disrupted[pod.metadata?.name ?? ""] !== undefined
  );
}

function stillDisrupted(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const present = new Map(pods.map((pod) => [pod.metadata?.name ?? "", pod]));
  const kept = Object.entries(budget.status?.disruptedPods ?? {}).filter(([name, time]) => {
    const pod = present.get(name);
    const fresh = nowMs - Date.parse(time) <= disruptionTimeoutMs;
    return pod !== undefined && pod.metadata?.deletionTimestamp === undefined && fresh;
  });
  return Object.fromEntries(kept);
}
