/**
 * `variables` of a policy: each is evaluated when it is first read, once per scope.
 *
 * Holds  the cost of a variable is counted into the evaluation that read it first (`takeCost`).
 * Texts as upstream's pkg/admission/plugin/cel/composition.go.
 */
import { FunctionError } from "#cel/libraries/limits.ts";
import type { Value } from "#cel/libraries/values.ts";
import { ObjectValue } from "#cel/object-value.ts";
import { objectType } from "#cel/type.ts";
import type { Outcome, Scope } from "./expression.ts";
import type { NamedExpression } from "./policy-index.ts";

export const variablesType = objectType("kubernetes.variables");

export class LazyVariables extends ObjectValue {
  readonly #expressions: ReadonlyMap<string, NamedExpression>;
  readonly #scope: () => Scope;
  readonly #known = new Map<string, Outcome>();
  #cost = 0;

  constructor(variables: readonly NamedExpression[], scope: () => Scope) {
    super(variablesType.name);
    this.#expressions = new Map(variables.map((variable) => [variable.name, variable]));
    this.#scope = scope;
  }

  /** Returns the cost units used since the previous call. */
  takeCost(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }

  override field(name: string): Value | undefined {
    const variable = this.#expressions.get(name);
    if (variable === undefined) return undefined;
    const outcome = this.#known.get(name) ?? this.#evaluate(variable);
    this.#known.set(name, outcome);
    if (outcome.kind === "error") throw new FunctionError(outcome.message);
    return outcome.value as Value; // what an evaluation makes
  }

  override has(name: string): boolean {
    return this.#expressions.has(name);
  }

  override names(): readonly string[] {
    return [...this.#expressions.keys()];
  }

  #evaluate({ name, expression }: NamedExpression): Outcome {
    const subject = `composited variable ${JSON.stringify(name)} fails to`;
    if (expression.compileError !== undefined) {
      return { kind: "error", message: `${subject} compile: ${expression.compileError}` };
    }
    const { outcome, cost } = expression.run(this.#scope());
    this.#cost += cost;
    if (outcome.kind === "value") return outcome;
    return { kind: "error", message: `${subject} evaluate: ${outcome.message}` };
  }
}
