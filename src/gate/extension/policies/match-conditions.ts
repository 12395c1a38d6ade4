/**
 * matchConditions: a policy or a webhook is called for a request only if all of its conditions are true.
 *
 * Holds  if any condition is false, failed conditions do not matter. Otherwise failurePolicy decides about a failed
 *        condition.
 */
import { aggregateText } from "#api/validation/aggregate.ts";
import { limits } from "./limits.ts";
import { Budget, evaluate, type Expression, OutOfBudget, type Scope } from "./expression.ts";

export type MatchResult =
  | { readonly kind: "match" }
  | { readonly kind: "no-match" }
  /** A condition failed, none was false, and failurePolicy is Fail. */
  | { readonly kind: "error"; readonly message: string };

const match: MatchResult = { kind: "match" };
const noMatch: MatchResult = { kind: "no-match" };

export function matchConditions(
  conditions: readonly Expression[],
  scope: Scope,
  failsClosed: boolean,
): MatchResult {
  const errors: string[] = [];
  const budget = new Budget(limits.matchConditionsCost);
  try {
    // All conditions are evaluated before a result is used, as upstream, because the list has one budget.
    const outcomes = conditions.map((condition) => evaluate(condition, scope, budget));
    for (const outcome of outcomes) {
      if (outcome.kind === "error") errors.push(outcome.message);
      else if (outcome.value === false) return noMatch;
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    errors.push(error.message);
  }
  if (errors.length === 0) return match;
  return failsClosed ? { kind: "error", message: aggregateText(errors) } : noMatch;
}
