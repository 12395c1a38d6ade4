/** The status of a PodDisruptionBudget with its condition DisruptionAllowed, pure. */
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/gen/types.ts";
import { withCondition } from "#client/conditions.ts";
import type { BudgetStatus } from "./budget.ts";

interface Said {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

const uncounted: PodDisruptionBudgetStatus = {
  currentHealthy: 0,
  desiredHealthy: 0,
  disruptionsAllowed: 0,
  expectedPods: 0,
};

/** `now`: an API timestamp. */
export function countedStatus(
  budget: PodDisruptionBudget,
  counts: BudgetStatus,
  now: string,
): PodDisruptionBudgetStatus {
  const isAllowed = counts.disruptionsAllowed > 0;
  const reason = isAllowed ? "SufficientPods" : "InsufficientPods";
  return statusOf(
    budget,
    counts,
    { status: isAllowed ? "True" : "False", reason, message: "" },
    now,
  );
}

/** If pods cannot be counted, nothing is allowed. The other counts stay. */
export function failedStatus(
  budget: PodDisruptionBudget,
  message: string,
  now: string,
): PodDisruptionBudgetStatus {
  const { conditions: _old, ...kept } = budget.status ?? uncounted;
  const counts = { ...kept, disruptionsAllowed: 0 };
  return statusOf(budget, counts, { status: "False", reason: "SyncFailed", message }, now);
}

function statusOf(
  budget: PodDisruptionBudget,
  counts: Omit<PodDisruptionBudgetStatus, "conditions">,
  said: Said,
  lastTransitionTime: string,
): PodDisruptionBudgetStatus {
  const observedGeneration = budget.metadata?.generation ?? 0;
  const condition = { type: "DisruptionAllowed", ...said, observedGeneration, lastTransitionTime };
  const conditions = withCondition(budget.status?.conditions, condition);
  return { ...counts, observedGeneration, conditions };
}
