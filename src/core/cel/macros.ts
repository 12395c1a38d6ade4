/**
 * Macros: calls that become folds, conditions and presence tests while an expression is parsed.
 *
 * Source: cel-go parser/macro.go, ext/comprehensions.go and cel/library.go (optMap): costs and types are counted on
 * the expansion, so it is theirs step by step.
 */
import { SyntaxFailure } from "./lexer.ts";
import type { Value } from "./libraries/values.ts";
import type { Expr } from "./syntax.ts";

/** A name that cannot occur in expressions. */
const accumulator = "@result";
const sortedList = "@__sortBy_input__";

type Expand = (at: number, target: Expr, args: readonly Expr[]) => Expr;

/** By name and number of arguments. */
const receivers: ReadonlyMap<string, Expand> = new Map<string, Expand>([
  ["all/2", quantifier(allOf)],
  ["all/3", quantifier(allOf)],
  ["exists/2", quantifier(someOf)],
  ["exists/3", quantifier(someOf)],
  ["exists_one/2", quantifier(oneOf)],
  ["exists_one/3", quantifier(oneOf)],
  ["existsOne/2", quantifier(oneOf)],
  ["existsOne/3", quantifier(oneOf)],
  ["map/2", (at, target, [name, transform]) => mapped(at, target, name, undefined, transform)],
  ["map/3", (at, target, [name, filter, transform]) => mapped(at, target, name, filter, transform)],
  ["filter/2", (at, target, [name, filter]) => mapped(at, target, name, filter, name)],
  ["transformList/3", (at, target, [k, v, made]) => listOf(at, target, [k, v], undefined, made)],
  [
    "transformList/4",
    (at, target, [k, v, filter, made]) => listOf(at, target, [k, v], filter, made),
  ],
  [
    "transformMap/3",
    (at, target, [k, v, made]) => mapOf(at, target, [k, v], undefined, made, true),
  ],
  ["transformMap/4", (at, target, [k, v, f, made]) => mapOf(at, target, [k, v], f, made, true)],
  [
    "transformMapEntry/3",
    (at, target, [k, v, made]) => mapOf(at, target, [k, v], undefined, made, false),
  ],
  [
    "transformMapEntry/4",
    (at, target, [k, v, f, made]) => mapOf(at, target, [k, v], f, made, false),
  ],
  ["sortBy/2", sorted],
  [
    "optMap/2",
    (at, target, [name, made]) =>
      optional(at, target, name, (value) => call(at, "optional.of", value), made),
  ],
  [
    "optFlatMap/2",
    (at, target, [name, made]) => optional(at, target, name, (value) => value, made),
  ],
]);

/** @returns undefined: it is an ordinary call. @throws SyntaxFailure for invalid arguments of a macro. */
export function expandMacro(
  name: string,
  at: number,
  target: Expr | undefined,
  args: readonly Expr[],
): Expr | undefined {
  if (target === undefined)
    return name === "has" && args.length === 1 ? has(at, args[0]) : undefined;
  return receivers.get(`${name}/${args.length}`)?.(at, target, args);
}

function has(at: number, field: Expr | undefined): Expr {
  if (field?.kind !== "select") {
    throw refused(field?.at ?? at, "invalid argument to has() macro");
  }
  return { ...field, at, isTest: true };
}

interface Fold {
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

function quantifier(make: (at: number, predicate: Expr) => Fold): Expand {
  return (at, target, args) => {
    const names = args.slice(0, -1);
    const predicate = args.at(-1) as Expr; // at least two arguments
    return fold(at, target, names, make(at, predicate));
  };
}

function allOf(at: number, predicate: Expr): Fold {
  return {
    init: literal(at, true),
    condition: call(at, "@not_strictly_false", accumulated(at)),
    step: call(at, "_&&_", accumulated(at), predicate),
    result: accumulated(at),
  };
}

function someOf(at: number, predicate: Expr): Fold {
  return {
    init: literal(at, false),
    condition: call(at, "@not_strictly_false", call(at, "!_", accumulated(at))),
    step: call(at, "_||_", accumulated(at), predicate),
    result: accumulated(at),
  };
}

function oneOf(at: number, predicate: Expr): Fold {
  const more = call(at, "_+_", accumulated(at), literal(at, 1n));
  return {
    init: literal(at, 0n),
    condition: literal(at, true),
    step: call(at, "_?_:_", predicate, more, accumulated(at)),
    result: call(at, "_==_", accumulated(at), literal(at, 1n)),
  };
}

function mapped(
  at: number,
  target: Expr,
  name: Expr | undefined,
  filter: Expr | undefined,
  transform: Expr | undefined,
): Expr {
  return listOf(at, target, [name], filter, transform);
}

function listOf(
  at: number,
  target: Expr,
  names: readonly (Expr | undefined)[],
  filter: Expr | undefined,
  transform: Expr | undefined,
): Expr {
  const item: Expr = { kind: "list", at, items: [transform as Expr], optional: new Set() }; // by the count of arguments
  const step = call(at, "_+_", accumulated(at), item);
  return fold(at, target, names as readonly Expr[], {
    init: { kind: "list", at, items: [], optional: new Set() },
    condition: literal(at, true),
    step: filtered(at, filter, step),
    result: accumulated(at),
  });
}

function mapOf(
  at: number,
  target: Expr,
  names: readonly (Expr | undefined)[],
  filter: Expr | undefined,
  made: Expr | undefined,
  keepsKey: boolean,
): Expr {
  const key = names[0] as Expr; // by the count of arguments
  const parts = keepsKey ? [key, made as Expr] : [made as Expr];
  const step = call(at, "cel.@mapInsert", accumulated(at), ...parts);
  return fold(at, target, names as readonly Expr[], {
    init: { kind: "map", at, entries: [] },
    condition: literal(at, true),
    step: filtered(at, filter, step),
    result: accumulated(at),
  });
}

function filtered(at: number, filter: Expr | undefined, step: Expr): Expr {
  return filter === undefined ? step : call(at, "_?_:_", filter, step, accumulated(at));
}

/** `target.hasValue() ? wrap(value) : optional.none()`, with the value bound to a name. */
function optional(
  at: number,
  target: Expr,
  name: Expr | undefined,
  wrap: (value: Expr) => Expr,
  made: Expr | undefined,
): Expr {
  const value: Expr = { kind: "call", at, name: "value", target, args: [] };
  const bound = bind(at, identOf(name, at), value, made as Expr); // by the count of arguments
  const isThere: Expr = { kind: "call", at, name: "hasValue", target, args: [] };
  return call(at, "_?_:_", isThere, wrap(bound), call(at, "optional.none"));
}

/** The list sorted by a list of keys with one key per element. */
function sorted(at: number, target: Expr, [name, key]: readonly Expr[]): Expr {
  if (target.kind === "literal" || target.kind === "map" || target.kind === "struct") {
    const kinds = "a list, identifier, comprehension, call or select expression";
    throw refused(target.at, `sortBy can only be applied to ${kinds}`);
  }
  const list: Expr = { kind: "ident", at, name: sortedList };
  const keys = mapped(at, list, name, undefined, key);
  const made: Expr = {
    kind: "call",
    at,
    name: "@sortByAssociatedKeys",
    target: list,
    args: [keys],
  };
  return bind(at, sortedList, target, made);
}

/** `result` with `name` bound to `value`. */
function bind(at: number, name: string, value: Expr, result: Expr): Expr {
  return {
    kind: "comprehension",
    at,
    range: { kind: "list", at, items: [], optional: new Set() },
    iterVar: "#unused",
    iterVar2: undefined,
    accuVar: name,
    init: value,
    condition: literal(at, false),
    step: { kind: "ident", at, name },
    result,
  };
}

function fold(at: number, range: Expr, names: readonly Expr[], parts: Fold): Expr {
  const wanted = parts.init.kind === "literal" && names.length === 1 ? simpleName : identifier;
  const [iterVar = "", iterVar2] = names.map((name) => identOf(name, at, wanted));
  if (iterVar === iterVar2) {
    throw refused(names[1]?.at ?? at, `duplicate variable name: ${iterVar}`);
  }
  return { kind: "comprehension", at, range, iterVar, iterVar2, accuVar: accumulator, ...parts };
}

const identifier = "argument is not an identifier";
/** The error text of quantifiers. */
const simpleName = "argument must be a simple name";

function identOf(name: Expr | undefined, at: number, wanted = identifier): string {
  if (name?.kind !== "ident") throw refused(name?.at ?? at, wanted);
  if (name.name === "__result__") {
    throw refused(name.at, "iteration variable overwrites accumulator variable");
  }
  return name.name;
}

function accumulated(at: number): Expr {
  return { kind: "ident", at, name: accumulator };
}

function literal(at: number, value: Value): Expr {
  return { kind: "literal", at, value };
}

function call(at: number, name: string, ...args: readonly Expr[]): Expr {
  return { kind: "call", at, name, target: undefined, args };
}

function refused(at: number, message: string): SyntaxFailure {
  return new SyntaxFailure([{ at, message }]);
}
