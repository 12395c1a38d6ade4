/** What a PodDisruptionBudget allows right now, pure. */
import type { Pod, PodDisruptionBudget } from "#api/gen/types.ts";
import { isReady } from "../shared/pod.ts";

export interface BudgetStatus {
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  readonly disruptionsAllowed: number;
  /** Evictions granted whose pods are not seen to go yet, by pod name: kept from the old status. */
  readonly disruptedPods?: Readonly<Record<string, string>>;
}

/** A granted eviction counts this long; after it the pod is taken to have stayed. */
const disruptionTimeoutMs = 2 * 60_000;

/**
 * `expected` is how many pods the controllers of the matched pods want in all; undefined where some
 * pod has no controller with a scale (then only an absolute minAvailable can be honoured).
 */
export function budgetStatus(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  expected: number | undefined,
  nowMs: number,
): BudgetStatus {
  const disrupted = stillDisrupted(budget, pods, nowMs);
  const healthy = pods.filter((pod) => isReady(pod) && !isGoing(pod, disrupted)).length;
  const { expectedPods, desiredHealthy } = desired(budget, pods.length, expected);
  const blocked = expectedPods <= 0 || expected === undefined;
  const usesCount = typeof budget.spec?.minAvailable === "number";
  const spare = Math.max(0, healthy - desiredHealthy);
  return {
    currentHealthy: healthy,
    desiredHealthy,
    expectedPods,
    disruptionsAllowed: blocked && !usesCount ? 0 : expectedPods <= 0 ? 0 : spare,
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
  };
}

function desired(
  budget: PodDisruptionBudget,
  matched: number,
  expected: number | undefined,
): { readonly expectedPods: number; readonly desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = budget.spec ?? {};
  if (maxUnavailable !== undefined) {
    const expectedPods = expected ?? matched;
    return {
      expectedPods,
      desiredHealthy: Math.max(0, expectedPods - scaled(maxUnavailable, expectedPods)),
    };
  }
  if (typeof minAvailable === "number")
    return { expectedPods: matched, desiredHealthy: minAvailable };
  const expectedPods = expected ?? matched;
  return {
    expectedPods,
    desiredHealthy: minAvailable === undefined ? 0 : scaled(minAvailable, expectedPods),
  };
}

/** Percentages of a budget round up, both ways: the cautious side for minAvailable, upstream's for both. */
function scaled(value: number | string, total: number): number {
  return typeof value === "number" ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100);
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
    const fresh = nowMs - Date.parse(time) < disruptionTimeoutMs;
    return pod !== undefined && pod.metadata?.deletionTimestamp === undefined && fresh;
  });
  return Object.fromEntries(kept);
}
