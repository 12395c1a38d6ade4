/** Errors of the matchConditions of webhooks, in upstream's words. */
import type { ConditionError, MatchCondition } from "../matching/conditions.ts";
import { compileConditions } from "../policies/compile-conditions.ts";

/** Returns the errors by webhook. */
export function conditionErrors(
  lists: readonly (readonly MatchCondition[])[],
): readonly (readonly ConditionError[])[] {
  return lists.map((conditions) =>
    compileConditions(conditions).flatMap(({ compileError }, index) =>
      compileError === undefined ? [] : [{ index, message: compileError }],
    ),
  );
}
