/**
 * Expressions as a tree, macros expanded.
 *
 * Units  `at` is an offset in code points into the source text; of a call by operator, the operator's own.
 */
import type { Value } from "./libraries/values.ts";

interface Place {
  readonly at: number;
}

interface Literal extends Place {
  readonly kind: "literal";
  readonly value: Value;
}

interface Ident extends Place {
  readonly kind: "ident";
  readonly name: string;
}

export interface Select extends Place {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** Whether it comes from `has(...)`. */
  readonly isTest: boolean;
}

/** Operators are calls with cel-go's names: `_+_`, `_[_]`, `_?._`. */
export interface Call extends Place {
  readonly kind: "call";
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Place {
  readonly kind: "list";
  readonly items: readonly Expr[];
  /** Indexes of items marked with `?`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry extends Place {
  readonly key: Expr;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface MapExpr extends Place {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface StructField extends Place {
  readonly name: string;
  readonly value: Expr;
  readonly isOptional: boolean;
}

interface StructExpr extends Place {
  readonly kind: "struct";
  readonly type: string;
  readonly fields: readonly StructField[];
}

/** A fold over a list or a map. */
export interface Comprehension extends Place {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly iterVar: string;
  /** The variable for the value when `iterVar` is the index or key; absent: there is one variable. */
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr =
  | Literal
  | Ident
  | Select
  | Call
  | ListExpr
  | MapExpr
  | StructExpr
  | Comprehension;

/** `a.b.c`, if the expression consists of names only. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.isTest) return undefined;
  const before = qualifiedName(expr.operand);
  return before === undefined ? undefined : `${before}.${expr.field}`;
}

/** Whether a variable with that name is read anywhere. */
export function mentions(expr: Expr, name: string): boolean {
  if (expr.kind === "ident") return expr.name === name;
  return partsOf(expr).some((part) => mentions(part, name));
}

/** The direct subexpressions, in the order of the text. */
export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "literal":
    case "ident":
      return [];
    case "select":
      return [expr.operand];
    case "call":
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case "list":
      return expr.items;
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expr.fields.map(({ value }) => value);
    case "comprehension":
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return expr satisfies never;
  }
}
