/** Computes what a PodDisruptionBudget currently allows. Pure. */
import type { Pod, PodDisruptionBudget } from "#api/gen/types.ts";
import { roundUpPercent } from "../scaling/percent.ts";
import { isReady } from "../pods/pod.ts";

export interface BudgetStatus {
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  readonly disruptionsAllowed: number;
  /** Granted evictions whose pods are still there, by pod name; kept from the old status. */
  readonly disruptedPods?: Readonly<Record<string, string>>;
}

/** Time after which a granted eviction is considered not to have happened. */
export const disruptionTimeoutMs = 2 * 60_000;

/** `expected` is used only if `needsExpected`. */
export function budgetStatus(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  expected: number,
  nowMs: number,
): BudgetStatus {
  const disrupted = stillDisrupted(budget, pods, nowMs);
  const healthy = pods.filter((pod) => isReady(pod) && !isGoing(pod, disrupted)).length;
  const { expectedPods, desiredHealthy } = computeDesired(budget, pods.length, expected);
  // A budget without matching pods allows nothing, because pods may be created soon.
  const allowed = expectedPods <= 0 ? 0 : Math.max(0, healthy - desiredHealthy);
  return {
    currentHealthy: healthy,
    desiredHealthy,
    expectedPods,
    disruptionsAllowed: allowed,
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
  };
}

/** An absolute minAvailable refers to existing pods; all other forms refer to the expected number. */
export function needsExpected(budget: PodDisruptionBudget): boolean {
  const { minAvailable, maxUnavailable } = budget.spec ?? {};
  return maxUnavailable !== undefined || typeof minAvailable === "string";
}

/** Time until the first granted eviction expires; undefined: none is pending. */
export function recheckInMs(status: BudgetStatus, nowMs: number): number | undefined {
  const times = Object.values(status.disruptedPods ?? {}).map((time) => Date.parse(time));
  return times.length === 0 ? undefined : Math.min(...times) + disruptionTimeoutMs - nowMs + 1;
}

/** As upstream, percentages are rounded up in both directions. */
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
