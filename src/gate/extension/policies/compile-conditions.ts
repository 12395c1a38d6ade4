/** Compiles the matchConditions of a webhook. A condition that does not compile keeps its error. */
import type { MatchCondition } from "../matching/conditions.ts";
import { PolicyCompiler, results } from "./compiler.ts";
import type { Expression } from "./expression.ts";

const declared = { hasParams: false, hasAuthorizer: true, hasVariables: false };

export function compileConditions(conditions: readonly MatchCondition[]): readonly Expression[] {
  const compiler = new PolicyCompiler();
  return conditions.map(({ expression }) => compiler.compile(expression, declared, results.bool));
}
