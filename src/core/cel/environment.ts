/**
 * The door of the room: text -> program -> value, with errors in upstream's words.
 *
 * In     the variables and types that expressions may name; Kubernetes' functions of a version.
 * Holds  a program's evaluation ends when its cost passes the limit; it changes nothing outside.
 * Limits `callCostMax` units an evaluation, as upstream's PerCallLimit.
 */
import { check, type Checked, type CheckResult } from "./checker.ts";
import { spendEffort } from "./effort.ts";
import { type Functions, kubernetesFunctions, type TypeProvider } from "./declarations.ts";
import { FunctionError } from "./libraries/limits.ts";
import type { Library } from "./libraries/library.ts";
import { withPatternBudget } from "./libraries/regex-library.ts";
import type { Value } from "./libraries/values.ts";
import { SyntaxFailure } from "./lexer.ts";
import { literalErrors } from "./literal-checks.ts";
import { parse } from "./parser.ts";
import { CostExceeded, Frame, type Step } from "./frame.ts";
import { plan } from "./plan.ts";
import { showErrors, type SourceError } from "./source-error.ts";
import { sameType, type Type } from "./type.ts";

/** Maximum steps of patterns that one evaluation may compile. */
const patternStepsMax = 20_000;

/** Parsing, checking and planning take about 1 us per character. */
const effortPerCharacter = 5;

export const callCostMax = 1_000_000;

interface EnvironmentOptions {
  readonly variables: ReadonlyMap<string, Type>;
  readonly types?: TypeProvider;
  /** Selects the libraries of Kubernetes 1.`minor`. */
  readonly minor?: number;
  /** Additional libraries for a single purpose. */
  readonly libraries?: readonly Library[];
}

type Outcome =
  | { readonly kind: "value"; readonly value: Value; readonly cost: number }
  | { readonly kind: "error"; readonly message: string; readonly cost: number };

export interface Program {
  readonly type: Type;
  readonly checked: Checked;
  /** Never throws: an error of the expression is returned as an outcome. */
  evaluate(variables: ReadonlyMap<string, Value>, limit?: number): Outcome;
}

type Compilation =
  | { readonly kind: "program"; readonly program: Program }
  /** `message` shows all errors with their positions. */
  | { readonly kind: "errors"; readonly message: string; readonly errors: readonly SourceError[] };

const noTypes: TypeProvider = { find: () => undefined };
const current = 36;
/** Functions by version, shared by its environments because they are looked up by name only. */
const functionsByMinor = new Map<number, Functions>();

export class Environment {
  readonly #variables: ReadonlyMap<string, Type>;
  readonly #types: TypeProvider;
  readonly #functions: Functions;

  constructor({ variables, types = noTypes, minor = current, libraries }: EnvironmentOptions) {
    this.#variables = variables;
    this.#types = types;
    this.#functions =
      libraries === undefined ? standardOf(minor) : kubernetesFunctions(minor, libraries);
  }

  /** @param results types allowed for the expression; absent: any. */
  compile(text: string, results?: readonly Type[]): Compilation {
    const result = this.#check(text);
    if (result.kind === "errors") {
      const message = `compilation failed: ${showErrors(text, result.errors)}`;
      return { kind: "errors", message, errors: result.errors };
    }
    const { checked, type } = result;
    if (results !== undefined && !results.some((one) => sameType(one, type))) {
      return { kind: "errors", message: wrongResult(results, type), errors: [] };
    }
    return { kind: "program", program: programOf(checked, type) };
  }

  #check(text: string): CheckResult {
    spendEffort(text.length * effortPerCharacter);
    try {
      const scope = { variables: this.#variables, functions: this.#functions, types: this.#types };
      const result = check(parse(text), scope);
      if (result.kind === "errors") return result;
      const errors = literalErrors(result.checked);
      return errors.length === 0 ? result : { kind: "errors", errors };
    } catch (error) {
      if (error instanceof SyntaxFailure) return { kind: "errors", errors: error.errors };
      throw error;
    }
  }
}

function standardOf(minor: number): Functions {
  const known = functionsByMinor.get(minor) ?? kubernetesFunctions(minor);
  functionsByMinor.set(minor, known);
  return known;
}

function wrongResult(results: readonly Type[], type: Type): string {
  const [only] = results;
  if (results.length === 1 && only !== undefined) {
    return `must evaluate to ${nameType(only)} but got ${nameType(type)}`;
  }
  return `must evaluate to one of [${results.map(nameType).join(" ")}] but got ${nameType(type)}`;
}

/** The type's name as in cel-go's Type.String, without short names. */
function nameType({ name, parameters }: Type): string {
  return parameters.length === 0 ? name : `${name}(${parameters.map(nameType).join(", ")})`;
}

/** Planned at the first evaluation, because most stored expressions of a large cluster are never evaluated. */
function programOf(checked: Checked, type: Type): Program {
  let step: Step | undefined;
  return {
    type,
    checked,
    evaluate(variables, limit = callCostMax) {
      step ??= plan(checked);
      const frame = new Frame(variables, limit);
      try {
        const run = step;
        const value = withPatternBudget(patternStepsMax, () => run(frame));
        return { kind: "value", value, cost: frame.cost };
      } catch (error) {
        if (!(error instanceof FunctionError) && !(error instanceof CostExceeded)) throw error;
        return { kind: "error", message: error.message, cost: frame.cost };
      }
    },
  };
}
