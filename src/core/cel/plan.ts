/**
 * A checked expression as a tree of functions, which is run many times.
 *
 * Holds  every step adds its cost before it does its work, and the evaluation ends with the step that would pass the limit:
 *        no expression runs longer than its budget, whatever it does. Such an end is no error that `||` absorbs.
 * Costs  as cel-go's interpreter/runtimecost.go with Kubernetes' options (a presence test costs nothing).
 */
import { spendEffort } from "./effort.ts";
import { callCost } from "./libraries/call-cost.ts";
import { FunctionError } from "./libraries/limits.ts";
import type { LibraryOverload, LibraryType } from "./libraries/library.ts";
import {
  keyText,
  listItems,
  ListValue,
  MapValue,
  OptionalValue,
  typeName,
  TypeValue,
  type Value,
} from "./libraries/values.ts";
import type { Checked, Resolved } from "./checker.ts";
import { MadeObject, ObjectValue } from "./object-value.ts";
import { checkKey, isNoOverload, noOverloadOf, notIterable } from "./no-overload.ts";
import { findElement, foundOptional, indexed, show } from "./standard/relations.ts";
import { standardCost } from "./standard/cost.ts";
import { Failed, Frame, type Step } from "./frame.ts";
import { collectList, collectMap } from "./plan-collect.ts";
import type { Call, Comprehension, Expr, Select } from "./syntax.ts";

export function plan(checked: Checked): Step {
  return new Planner(checked).plan(checked.expr);
}

/** Type conversions, whose result is constant for a constant argument. */
const conversions: ReadonlySet<string> = new Set(
  "bool bytes double duration dyn int string timestamp type uint".split(" "),
);
const noVariables: ReadonlyMap<string, Value> = new Map();
/** Maximum cost of converting a constant before any evaluation. */
const foldCostMax = 1_000_000;

/** Cost of reading a variable, or another value whose fields and indexes are read. */
const attributeCost = 1;
const createListCost = 10;
const createMapCost = 30;
const createStructCost = 40;

class Planner {
  readonly checked: Checked;
  readonly #slots: string[] = [];
  readonly #constants = new Map<Expr, Value | undefined>();

  constructor(checked: Checked) {
    this.checked = checked;
  }

  plan(expr: Expr): Step {
    return this.#attribute(expr, attributeCost);
  }

  /** @param base cost in addition to fields and indexes: as upstream, none for a branch of `?:` and an index. */
  #attribute(expr: Expr, base: number): Step {
    const constant = this.#constant(expr);
    return constant === undefined ? this.#planned(expr, base) : () => constant;
  }

  /** The operand of a field or index. `f(x).a` costs one unit more than `x.a`, whose variable was already charged. */
  #operand(expr: Expr, base: number): Step {
    if (this.#constant(expr) === undefined && isAttribute(expr)) return this.#attribute(expr, base);
    const operand = this.plan(expr);
    return (frame) => {
      const value = operand(frame);
      frame.spend(base);
      return value;
    };
  }

  /** As upstream, values known before evaluation cost nothing: literals, lists and maps of them, and conversions. */
  #constant(expr: Expr): Value | undefined {
    if (expr.kind === "literal") return expr.value;
    if (!this.#constants.has(expr)) this.#constants.set(expr, this.#fold(expr));
    return this.#constants.get(expr);
  }

  #fold(expr: Expr): Value | undefined {
    if (expr.kind === "list") return this.#foldList(expr);
    if (expr.kind === "map") return this.#foldMap(expr);
    return expr.kind === "call" ? this.#foldConversion(expr) : undefined;
  }

  #foldConversion(expr: Call): Value | undefined {
    const [arg] = expr.args;
    if (arg === undefined || expr.target !== undefined || !conversions.has(expr.name))
      return undefined;
    const value = this.#constant(arg);
    const resolved = this.checked.resolved(expr);
    if (value === undefined || resolved === undefined) return undefined;
    const made = attempt(() =>
      plainCall(resolved, [() => value])(new Frame(noVariables, foldCostMax)),
    );
    return made instanceof Failed ? undefined : made;
  }

  #foldList({ items, optional }: Extract<Expr, { kind: "list" }>): Value | undefined {
    if (optional.size > 0) return undefined;
    const values: Value[] = [];
    for (const item of items) {
      const value = this.#constant(item);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return new ListValue(values);
  }

  #foldMap({ entries }: Extract<Expr, { kind: "map" }>): Value | undefined {
    const made: [Value, Value][] = [];
    for (const { key, value, isOptional } of entries) {
      const [at, held] = [this.#constant(key), this.#constant(value)];
      if (isOptional || at === undefined || held === undefined) return undefined;
      made.push([at, held]);
    }
    const map = attempt(() => uniqueMap(made));
    return map instanceof Failed ? undefined : map;
  }

  #planned(expr: Expr, base: number): Step {
    switch (expr.kind) {
      case "literal": {
        const { value } = expr;
        return () => value;
      }
      case "ident":
        return this.#variable(expr.name, base);
      case "select":
        return this.#select(expr, base);
      case "call":
        return this.#call(expr, base);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr);
      case "comprehension":
        return this.#comprehension(expr);
      default:
        return expr satisfies never;
    }
  }

  #variable(name: string, base: number): Step {
    const slot = this.#slots.lastIndexOf(name);
    if (slot >= 0) return (frame) => readLocal(frame, slot, base);
    return (frame) => {
      const value = frame.variables.get(name);
      if (value === undefined && !frame.variables.has(name)) return new TypeValue(name);
      frame.spend(base);
      return value ?? null;
    };
  }

  #select(expr: Select, base: number): Step {
    const name = this.checked.variable(expr);
    if (name !== undefined) return this.#variable(name, base);
    const operand = this.#operand(expr.operand, base);
    const { field } = expr;
    if (expr.isTest) return (frame) => isSet(operand(frame), field);
    return (frame) => {
      const value = operand(frame);
      frame.spend(1);
      return selected(value, field);
    };
  }

  #call(expr: Call, base: number): Step {
    if (expr.name === "_?._") return this.#optionalSelect(expr, base);
    const resolved = this.checked.resolved(expr);
    if (resolved === undefined) throw new Error(`a call that was not checked: ${expr.name}`);
    const { args, target } = expr;
    const all = resolved.hasTarget && target !== undefined ? [target, ...args] : args;
    const [first] = all;
    if (isIndex(expr) && first !== undefined) {
      const keys = all.slice(1).map((key) => this.#attribute(key, 0));
      const steps = [this.#operand(first, base), ...keys];
      return expr.name === "_[_]" ? indexCall(steps) : optionalIndex(steps);
    }
    const steps = all.map((arg, at) => {
      return this.#attribute(arg, expr.name === "_?_:_" && at > 0 ? 0 : attributeCost);
    });
    return (
      this.#constantMembership(resolved, all, steps) ??
      specialCall(resolved, steps) ??
      plainCall(resolved, steps)
    );
  }

  /** `x in [1, 2]`: as upstream, the look-up is free, and for an empty list nothing is evaluated. */
  #constantMembership(
    { overloads }: Resolved,
    [, container]: readonly Expr[],
    [item]: readonly Step[],
  ): Step | undefined {
    if (overloads[0]?.id !== "in_list" || overloads.length > 1) return undefined;
    const list = container === undefined ? undefined : this.#constant(container);
    if (!(list instanceof ListValue) || item === undefined) return undefined;
    if (list.size === 0) return () => false;
    if (!list.items.every(isPlain)) return undefined;
    const known = new Set(list.items.map(keyText));
    return (frame) => {
      const value = item(frame);
      return !Number.isNaN(value) && known.has(keyText(value));
    };
  }

  #optionalSelect({ args }: Call, base: number): Step {
    const [operandExpr, fieldExpr] = args;
    if (operandExpr === undefined || fieldExpr?.kind !== "literal") throw new Error("checked");
    const operand = this.#operand(operandExpr, base);
    const field = fieldExpr.value;
    return (frame) => spendIfFound(frame, optionalField(operand(frame), field));
  }

  #list({ items, optional }: Extract<Expr, { kind: "list" }>): Step {
    const steps = items.map((item) => this.plan(item));
    return (frame) => {
      const values: Value[] = [];
      steps.forEach((step, at) => {
        const value = step(frame);
        if (!optional.has(at)) values.push(value);
        else if (!(value instanceof OptionalValue)) throw new FunctionError(wrongOptional(value));
        else if (value.inner !== undefined) values.push(value.inner);
      });
      frame.spend(createListCost);
      return new ListValue(values);
    };
  }

  #map({ entries }: Extract<Expr, { kind: "map" }>): Step {
    const steps = entries.map(({ key, value, isOptional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      isOptional,
    }));
    return (frame) => {
      const made: [Value, Value][] = [];
      for (const { key, value, isOptional } of steps) {
        const at = key(frame);
        const held = value(frame);
        if (!isOptional) made.push([at, held]);
        else if (!(held instanceof OptionalValue)) throw new FunctionError(wrongOptional(held));
        else if (held.inner !== undefined) made.push([at, held.inner]);
      }
      frame.spend(createMapCost);
      return uniqueMap(made);
    };
  }

  #struct({ type, fields }: Extract<Expr, { kind: "struct" }>): Step {
    const steps = fields.map(({ name, value, isOptional }) => ({
      name,
      step: this.plan(value),
      isOptional,
    }));
    return (frame) => {
      const made = new Map<string, Value>();
      for (const { name, step, isOptional } of steps) {
        const value = step(frame);
        if (!isOptional) made.set(name, value);
        else if (value instanceof OptionalValue && value.inner !== undefined)
          made.set(name, value.inner);
      }
      frame.spend(createStructCost);
      return new MadeObject(type, made);
    };
  }

  #comprehension(expr: Comprehension): Step {
    const range = this.plan(expr.range);
    const collected = collectList(expr) ?? collectMap(expr);
    const init = this.plan(expr.init);
    const accu = this.#slots.push(expr.accuVar) - 1;
    const first = this.#slots.push(expr.iterVar) - 1;
    const second = this.#slots.push(expr.iterVar2 ?? "") - 1;
    const step = collected?.plan(
      (inner) => this.plan(inner),
      (inner) => this.#constant(inner) !== undefined,
    );
    // A collecting step is not planned twice, because nested folds would double the work at each level.
    const loop =
      step === undefined
        ? { condition: this.plan(expr.condition), next: this.plan(expr.step) }
        : undefined;
    this.#slots.length -= 2;
    const result = this.plan(expr.result);
    this.#slots.length -= 1;
    const isPair = expr.iterVar2 !== undefined;
    return (frame) => {
      const over = range(frame);
      frame.locals[accu] = attempt(() => init(frame));
      if (step !== undefined) {
        const made = step(frame, iterate(frame, over, isPair), (key, value) => {
          frame.locals[first] = key;
          frame.locals[second] = value;
        });
        frame.locals[accu] = made;
        return result(frame);
      }
      for (const [key, value] of iterate(frame, over, isPair)) {
        frame.locals[first] = key;
        frame.locals[second] = value;
        if (loop?.condition(frame) !== true) break;
        frame.locals[accu] = attempt(() => loop.next(frame));
      }
      return result(frame);
    };
  }
}

/** Calls that read fields or elements, whose cost is added to that of their operand. */
function isAttribute(expr: Expr): boolean {
  if (expr.kind === "ident" || expr.kind === "select") return true;
  return expr.kind === "call" && (isIndex(expr) || /^_\?(?:\._|_:_)$/.test(expr.name));
}

function isIndex({ name }: Call): boolean {
  return name === "_[_]" || name === "_[?_]";
}

function isPlain(value: Value): boolean {
  return /^(?:bool|double|int|string|uint)$/.test(typeName(value)) && !Number.isNaN(value);
}

/** A qualifier that finds nothing costs nothing. */
function spendIfFound(frame: Frame, found: Value): Value {
  if (found instanceof OptionalValue && found.inner !== undefined) frame.spend(1);
  return found;
}

function indexCall([container, key]: readonly Step[]): Step {
  if (container === undefined || key === undefined) throw new Error("checked");
  return (frame) => {
    const [from, at] = [container(frame), key(frame)];
    frame.spend(1);
    checkKey(at);
    return from instanceof OptionalValue ? foundOptional(from, at) : indexed(from, at);
  };
}

function optionalIndex([container, key]: readonly Step[]): Step {
  if (container === undefined || key === undefined) throw new Error("checked");
  return (frame) => {
    const [from, at] = [container(frame), key(frame)];
    checkKey(at);
    return spendIfFound(frame, optionalField(from, at));
  };
}

function readLocal(frame: Frame, slot: number, base: number): Value {
  frame.spend(base);
  const value = frame.locals[slot];
  if (value instanceof Failed) throw value.error;
  return value as Value; // set before the step that reads it
}

function attempt(run: () => Value): Value | Failed {
  try {
    return run();
  } catch (error) {
    if (error instanceof FunctionError) return new Failed(error);
    throw error;
  }
}

/** Elements, or indexes and elements; keys of a map, or keys and values. */
function* iterate(frame: Frame, over: Value, isPair: boolean): Generator<readonly [Value, Value]> {
  for (const pair of pairsOf(over, isPair)) {
    frame.count();
    yield pair;
  }
}

function* pairsOf(over: Value, isPair: boolean): Generator<readonly [Value, Value]> {
  if (over instanceof MapValue) {
    yield* over.entries;
    return;
  }
  if (over instanceof ObjectValue) {
    for (const name of over.names()) yield [name, over.field(name) ?? null];
    return;
  }
  const items = listItems(over);
  if (items === undefined) throw new FunctionError(notIterable(over, isPair));
  for (const [at, item] of items.entries()) yield isPair ? [BigInt(at), item] : [item, item];
}

function selected(value: Value, field: string): Value {
  if (value instanceof OptionalValue) return optionalField(value, field);
  const found = findElement(value, field);
  if (found === undefined) throw new FunctionError(`no such key: ${field}`);
  return found;
}

function isSet(value: Value, field: string): boolean {
  if (value instanceof OptionalValue) return value.inner !== undefined && isSet(value.inner, field);
  if (value instanceof ObjectValue) return value.has(field);
  return findElement(value, field) !== undefined;
}

function optionalField(value: Value, field: Value): Value {
  if (value instanceof OptionalValue) {
    return value.inner === undefined ? value : optionalField(value.inner, field);
  }
  if (value instanceof ObjectValue && typeof field === "string") {
    return new OptionalValue(value.has(field) ? value.field(field) : undefined);
  }
  return foundOptional(value, field);
}

function wrongOptional(value: Value): string {
  return `cannot initialize optional entry from non-optional value ${show(value)}`;
}

function uniqueMap(entries: readonly (readonly [Value, Value])[]): MapValue {
  const seen = new Set<string>();
  for (const [key] of entries) {
    const text = keyText(key);
    if (seen.has(text)) throw new FunctionError(`Failed with repeated key ${show(key)}`);
    seen.add(text);
  }
  return new MapValue(entries);
}

/** Calls that do not evaluate all of their arguments. */
function specialCall({ name, overloads }: Resolved, steps: readonly Step[]): Step | undefined {
  const [a, b, c] = steps;
  if (a === undefined) return undefined;
  if (name === "@not_strictly_false") return (frame) => notStrictlyFalse(frame, a);
  if (b === undefined) return undefined;
  if (name === "_&&_") return (frame) => either(frame, a, b, false);
  if (name === "_||_") return (frame) => either(frame, a, b, true);
  const id = overloads[0]?.id;
  if (id === "optional_or_optional" || id === "optional_orValue_value") {
    return (frame) => {
      const value = a(frame);
      if (!(value instanceof OptionalValue)) throw new FunctionError("no such overload");
      if (value.inner === undefined) return b(frame);
      return id === "optional_or_optional" ? value : value.inner;
    };
  }
  if (name !== "_?_:_" || c === undefined) return undefined;
  return (frame) => {
    const condition = a(frame);
    if (typeof condition !== "boolean") throw new FunctionError("no such overload");
    return condition ? b(frame) : c(frame);
  };
}

function notStrictlyFalse(frame: Frame, step: Step): boolean {
  const value = attempt(() => step(frame));
  frame.spend(1);
  return value !== false;
}

/** `decisive` on either side determines the result, even if the other side fails. */
function either(frame: Frame, left: Step, right: Step, decisive: boolean): Value {
  const a = attempt(() => left(frame));
  if (a === decisive) return decisive;
  const b = attempt(() => right(frame));
  if (b === decisive) return decisive;
  if (a instanceof Failed) throw a.error;
  if (b instanceof Failed) throw b.error;
  if (typeof a !== "boolean" || typeof b !== "boolean") throw new FunctionError("no such overload");
  return !decisive;
}

function plainCall({ name, overloads }: Resolved, steps: readonly Step[]): Step {
  const [only] = overloads;
  const id = overloads.length === 1 && only !== undefined ? only.id : "";
  return (frame) => {
    const args = steps.map((step) => step(frame));
    spendEffort(readingEffort(args));
    frame.spend(callCost(name, id, args) ?? standardCost(id, args));
    const overload = id === "" ? choose(overloads, args) : only;
    if (overload === undefined) throw noOverloadOf(name, args);
    try {
      return overload.call(...args);
    } catch (error) {
      if (!isNoOverload(error) || takes(overload, args)) throw error;
      throw noOverloadOf(name, args);
    }
  };
}

/** Characters that a text function processes per unit of effort. */
const charactersPerEffort = 16;

/** Effort of a function that reads each character once; functions over elements count those. */
function readingEffort(args: readonly Value[]): number {
  let effort = 0;
  for (const arg of args) {
    if (typeof arg === "string" || arg instanceof Uint8Array) effort += arg.length;
  }
  return effort / charactersPerEffort;
}

function choose(
  overloads: readonly LibraryOverload[],
  args: readonly Value[],
): LibraryOverload | undefined {
  return overloads.find((overload) => takes(overload, args));
}

function takes({ args: wanted }: LibraryOverload, args: readonly Value[]): boolean {
  return wanted.every((type, at) => isOfType(args[at] as Value, type)); // as many as declared
}

function isOfType(value: Value, type: LibraryType): boolean {
  if (type.isParameter || type.name === "dyn") return true;
  if (type.name === "map" && value instanceof ObjectValue) return true;
  return typeName(value) === type.name;
}
