/**
 * Evaluates queries over an object of the API.
 *
 * Holds  an evaluation visits at most `stepsMax` nodes and values, and makes texts of at most `charsMax` characters;
 *        what it gives is a list, without nulls, as kwok reads it.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { Budget, TemplateError } from "../template/budget.ts";
import { compareJson } from "./json-order.ts";
import { isTruthy, queryFunctions, typeOf } from "./query-functions.ts";
import { parseQuery } from "./query-parser.ts";
import type { Operator, Query } from "./query-syntax.ts";

const queryLimits = { stepsMax: 20_000, charsMax: 100_000 };

export interface CompiledQuery {
  /** Undefined: the query failed, which selectors treat as an empty result. */
  values(object: unknown): readonly unknown[] | undefined;
}

/** @throws TemplateError for an invalid query. */
export function compileQuery(text: string): CompiledQuery {
  const query = parseQuery(text);
  return {
    values(object) {
      try {
        const found = new Evaluation(new Budget(queryLimits)).all(query, object);
        return found.filter((one) => one !== null && one !== undefined);
      } catch (error) {
        if (error instanceof TemplateError) return undefined;
        throw error;
      }
    },
  };
}

class Evaluation {
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  readonly all = (query: Query, value: unknown): readonly unknown[] => {
    this.#budget.step();
    const found = this.#all(query, value);
    this.#budget.step(found.length);
    return found;
  };

  #all(query: Query, value: unknown): readonly unknown[] {
    switch (query.kind) {
      case "identity":
        return [value];
      case "literal":
        return [query.value];
      case "list":
        return [query.body === undefined ? [] : this.all(query.body, value)];
      case "field":
        return this.#fields(query, value);
      case "each":
        return this.all(query.of, value).flatMap((one) => elements(one, query.isOptional));
      case "binary":
        return this.#binary(query.operator, query.left, query.right, value);
      case "if":
        return this.all(query.test, value).flatMap((one) =>
          this.all(isTruthy(one) ? query.yes : query.no, value),
        );
      case "call":
        return this.#call(query.name, query.args, value);
      default:
        return query satisfies never;
    }
  }

  #fields(query: Query & { readonly kind: "field" }, value: unknown): readonly unknown[] {
    const keys = this.all(query.key, value);
    return this.all(query.of, value).flatMap((one) =>
      keys.flatMap((key) => fieldAt(one, key, query.isOptional)),
    );
  }

  #call(name: string, args: readonly Query[], value: unknown): readonly unknown[] {
    const run = queryFunctions.get(name);
    if (run === undefined) throw new TemplateError(`no function ${name}`);
    return run(value, args, this.all, this.#budget);
  }

  #binary(operator: Operator, left: Query, right: Query, value: unknown): readonly unknown[] {
    switch (operator) {
      case "|":
        return this.all(left, value).flatMap((one) => this.all(right, one));
      case ",":
        return [...this.all(left, value), ...this.all(right, value)];
      case "//": {
        const found = this.#attempt(left, value).filter(isTruthy);
        return found.length > 0 ? found : this.all(right, value);
      }
      case "and":
      case "or":
        return this.all(left, value).flatMap((one) =>
          isTruthy(one) === (operator === "or")
            ? [operator === "or"]
            : this.all(right, value).map(isTruthy),
        );
      default:
        return this.all(right, value).flatMap((b) =>
          this.all(left, value).map((a) => this.#computed(operator, a, b)),
        );
    }
  }

  #attempt(query: Query, value: unknown): readonly unknown[] {
    try {
      return this.all(query, value);
    } catch (error) {
      if (error instanceof TemplateError) return [];
      throw error;
    }
  }

  #computed(operator: Operator, a: unknown, b: unknown): unknown {
    if (operator === "==") return jsonEqual(a, b);
    if (operator === "!=") return !jsonEqual(a, b);
    const order = compareJson(a, b);
    if (operator === "<") return order < 0;
    if (operator === "<=") return order <= 0;
    if (operator === ">") return order > 0;
    if (operator === ">=") return order >= 0;
    return this.#arithmetic(operator, a, b);
  }

  #arithmetic(operator: Operator, a: unknown, b: unknown): unknown {
    if (operator === "+" && (a === null || b === null)) return a ?? b;
    if (operator === "+" && typeof a === "string" && typeof b === "string") {
      this.#budget.chars(a.length + b.length);
      return a + b;
    }
    if (typeof a !== "number" || typeof b !== "number") {
      throw new TemplateError(`${typeOf(a)} ${operator} ${typeOf(b)}`);
    }
    if (operator === "+") return a + b;
    if (operator === "-") return a - b;
    if (operator === "*") return a * b;
    if (b === 0) throw new TemplateError("division by zero");
    return operator === "/" ? a / b : a % b;
  }
}

function elements(value: unknown, isOptional: boolean): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isRecord(value)) return Object.values(value);
  if (isOptional) return [];
  throw new TemplateError(`cannot iterate over ${typeOf(value)}`);
}

function fieldAt(value: unknown, key: unknown, isOptional: boolean): readonly unknown[] {
  if (value === null || value === undefined) return [null];
  if (Array.isArray(value) && typeof key === "number") {
    return [value[key < 0 ? key + value.length : key] ?? null];
  }
  if (isRecord(value) && typeof key === "string") {
    return [ownEntry(value, key) ?? null];
  }
  if (isOptional) return [];
  throw new TemplateError(`cannot index ${typeOf(value)} with ${typeOf(key)}`);
}
