/**
 * One expression of a policy: compiled once, evaluated with a cost budget that several expressions share.
 *
 * Holds  an expression that did not compile returns its error at every evaluation. An expression that exhausts the
 *        shared budget ends the whole list (`OutOfBudget`).
 * Texts as upstream's k8s.io/apiserver pkg/admission/plugin/cel (Evaluate).
 */

import type { Type } from "#cel/type.ts";

/** A CEL value, or the reason for its absence. */
export type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly message: string };

/** Variables of one evaluation, by name. */
export type Scope = ReadonlyMap<string, unknown>;

interface Ran {
  readonly outcome: Outcome;
  /** Cost units used, including those of variables that were evaluated for it. */
  readonly cost: number;
}

export interface Expression {
  readonly text: string;
  /** Why the expression does not compile with these variables and this result type. Undefined: it compiles. */
  readonly compileError: string | undefined;
  /** Type of the result. Undefined: the expression did not compile. */
  readonly type: Type | undefined;
  run(scope: Scope): Ran;
}

/** The budget is used up. No further expression of the list is evaluated. */
export class OutOfBudget extends Error {
  constructor() {
    super(
      "validation failed due to running out of cost budget, no further validation rules will be run",
    );
    this.name = "OutOfBudget";
  }
}

/** Cost units that the expressions of one list share. */
export class Budget {
  #left: number;

  constructor(units: number) {
    this.#left = units;
  }

  get left(): number {
    return this.#left;
  }

  /** @throws OutOfBudget. */
  spend(cost: number): void {
    if (cost > this.#left) throw new OutOfBudget();
    this.#left -= cost;
  }
}

/** @throws OutOfBudget. */
export function evaluate(expression: Expression, scope: Scope, budget: Budget): Outcome {
  const { text, compileError } = expression;
  if (compileError !== undefined) {
    return { kind: "error", message: `compilation error: ${compileError}` };
  }
  const { outcome, cost } = expression.run(scope);
  budget.spend(cost);
  if (outcome.kind === "value") return outcome;
  return { kind: "error", message: `expression '${text}' resulted in error: ${outcome.message}` };
}
