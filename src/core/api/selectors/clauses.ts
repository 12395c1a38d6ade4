/**
 * The requirements of a selector in their shortest form: at most one clause per key and operator, its values
 * sorted and without duplicates. 19,000 times `!a` is one clause.
 *
 *   =, ==, in   in       the values that all of them allow; none left: nothing matches
 *   !=, notin   notin    the values that any of them forbids
 *   gt, lt      gt, lt   the largest, the smallest bound; in () when a bound is no integer: nothing matches
 */
import { parseInt64 } from "../go/go-integer.ts";
import type { FieldSelector } from "./field-selector.ts";
import type { LabelRequirement, LabelSelector } from "./label-selector.ts";

export const clauseOperators = ["in", "notin", "exists", "!", "gt", "lt"] as const;

type ClauseOperator = (typeof clauseOperators)[number];

export interface Clause {
  readonly key: string;
  readonly operator: ClauseOperator;
  /** Sorted in the order of `<`. */
  readonly values: readonly string[];
}

/** Sorted by key, then in the order of the operators. */
export function labelClauses({ requirements }: LabelSelector): readonly Clause[] {
  const found = new Found();
  for (const { key, operator, values } of requirements)
    found.add(key, operatorOf(operator), values);
  return found.clauses();
}

/** A field always exists, but may be empty. */
export function fieldClauses({ requirements }: FieldSelector): readonly Clause[] {
  const found = new Found();
  for (const { field, operator, value } of requirements) {
    found.add(field, operator === "=" ? "in" : "notin", [value]);
  }
  return found.clauses();
}

function operatorOf(operator: LabelRequirement["operator"]): ClauseOperator {
  switch (operator) {
    case "=":
    case "==":
      return "in";
    case "!=":
      return "notin";
    case "in":
    case "notin":
    case "exists":
    case "!":
    case "gt":
    case "lt":
      return operator;
    default:
      return operator satisfies never;
  }
}

/** The values of one key by operator. */
type Values = Partial<Record<ClauseOperator, Set<string>>>;

class Found {
  readonly #byKey = new Map<string, Values>();

  add(key: string, operator: ClauseOperator, values: readonly string[]): void {
    let known = this.#byKey.get(key);
    if (known === undefined) this.#byKey.set(key, (known = {}));
    if (operator === "gt" || operator === "lt") return addBound(known, operator, values[0]);
    if (operator === "in") return allow(known, values);
    const others = (known[operator] ??= new Set());
    for (const value of values) others.add(value);
  }

  clauses(): readonly Clause[] {
    const clauses: Clause[] = [];
    for (const key of [...this.#byKey.keys()].sort()) {
      const known = this.#byKey.get(key) ?? {};
      for (const operator of clauseOperators) {
        const values = known[operator];
        if (values !== undefined) clauses.push({ key, operator, values: [...values].sort() });
      }
    }
    return clauses;
  }
}

function allow(known: Values, values: readonly string[]): void {
  const before = known.in;
  const allowed = before === undefined ? values : values.filter((value) => before.has(value));
  known.in = new Set(allowed);
}

function addBound(known: Values, operator: "gt" | "lt", text: string | undefined): void {
  const bound = text === undefined ? undefined : parseInt64(text);
  if (bound === undefined) return allow(known, []);
  const [before] = known[operator] ?? [];
  const old = before === undefined ? undefined : parseInt64(before);
  const isNarrower = old === undefined || (operator === "gt" ? bound > old : bound < old);
  if (isNarrower) known[operator] = new Set([String(bound)]);
}
