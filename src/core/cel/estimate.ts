/**
 * What an evaluation may cost at most, from the sizes that a schema declares.
 *
 * Holds  no evaluation on values within those sizes costs more than `max`.
 * Source: cel-go checker/cost.go with Kubernetes' options (a presence test costs nothing).
 */
import { given } from "#base/given.ts";
import { characterCost, patternCost } from "./libraries/call-cost.ts";
import { estimateCall, type EstimateNode, type EstimateSize } from "./libraries/call-estimate.ts";
import {
  addRanges,
  fixedRange,
  multiplyRanges,
  type Range,
  scaleRange,
  uniteRanges,
  unknownRange,
  unlimited,
} from "./libraries/cost-range.ts";
import { textLength } from "./libraries/text-functions.ts";
import type { Checked, Resolved } from "./checker.ts";
import type { Call, Comprehension, Expr } from "./syntax.ts";
import { isDyn, isOptional, type Type } from "./type.ts";

/** Estimates for the elements of a container. */
interface Entries {
  readonly isList: boolean;
  readonly key: Range;
  readonly value: Range;
}

interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entries: Entries | undefined;
}

const nothing = fixedRange(0);
const one = fixedRange(1);

export function estimateCost(checked: Checked, estimateSize: EstimateSize): Range {
  return new Estimator(checked, estimateSize).cost(checked.expr);
}

class Estimator {
  readonly #checked: Checked;
  readonly #estimateSize: EstimateSize;
  readonly #paths = new Map<Expr, readonly string[]>();
  readonly #sizes = new Map<Expr, Range>();
  readonly #entries = new Map<Expr, Entries>();
  readonly #locals = new Map<string, Local[]>();

  constructor(checked: Checked, estimateSize: EstimateSize) {
    this.#checked = checked;
    this.#estimateSize = estimateSize;
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case "literal":
        return nothing;
      case "ident":
        this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name]);
        return one;
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return addRanges(fixedRange(40), sum(expr.fields.map(({ value }) => this.cost(value))));
      case "comprehension":
        return this.#comprehension(expr);
      default:
        return expr satisfies never;
    }
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #push(name: string, local: Local): void {
    this.#locals.set(name, [...(this.#locals.get(name) ?? []), local]);
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #pathOf(expr: Expr): readonly string[] {
    if (expr.kind === "ident") {
      const local = this.#local(expr.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(expr) ?? [];
  }

  #select(expr: Extract<Expr, { kind: "select" }>): Range {
    const variable = this.#checked.variable(expr);
    if (variable !== undefined) {
      this.#paths.set(expr, [variable]);
      return one;
    }
    const operand = this.cost(expr.operand);
    if (expr.isTest) return operand;
    this.#paths.set(expr, [...this.#pathOf(expr.operand), expr.field]);
    // Upstream estimates fields of undeclared types as free.
    const type = this.#checked.typeOf(expr.operand);
    return isDyn(type) || isOptional(type) ? operand : addRanges(operand, one);
  }

  #list(expr: Extract<Expr, { kind: "list" }>): Range {
    const costs = expr.items.map((item) => this.cost(item));
    const value = unite(expr.items.map((item) => this.#sizeOrUnknown(item)));
    this.#entries.set(expr, { isList: true, key: one, value });
    return addRanges(fixedRange(10), sum(costs));
  }

  #map(expr: Extract<Expr, { kind: "map" }>): Range {
    const costs = expr.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
    const key = unite(expr.entries.map((entry) => this.#sizeOrUnknown(entry.key)));
    const value = unite(expr.entries.map((entry) => this.#sizeOrUnknown(entry.value)));
    this.#entries.set(expr, { isList: false, key, value });
    return addRanges(fixedRange(30), sum(costs));
  }

  #call(expr: Call): Range {
    if (expr.name === "_?._") return this.#optionalSelect(expr);
    const resolved = this.#checked.resolved(expr);
    if (resolved === undefined) return nothing;
    if (resolved.name === "dyn") return this.#dyn(expr);
    const costs = expr.args.map((arg) => this.cost(arg));
    const target = resolved.hasTarget ? expr.target : undefined;
    const before = target === undefined ? nothing : this.cost(target);
    let cost: Range = { min: unlimited, max: 0 };
    let size: Range | undefined;
    for (const { id } of resolved.overloads) {
      const estimate = this.#overload(expr, resolved, id, target, costs);
      cost = uniteRanges(cost, estimate.cost);
      size = unionOf(size, estimate.size);
      size = this.#indexed(expr, id) ?? size;
      size ??= this.#sizeOf(expr);
    }
    if (size !== undefined) this.#sizes.set(expr, size);
    return addRanges(before, cost);
  }

  #optionalSelect(expr: Call): Range {
    const [operand] = expr.args;
    if (operand === undefined) return nothing;
    return addRanges(this.cost(operand), one);
  }

  /** `dyn` does not change the value, so its argument's estimate is used. */
  #dyn(expr: Call): Range {
    const [arg] = expr.args;
    if (arg === undefined) return one;
    const cost = this.cost(arg);
    const size = this.#sizeOf(arg);
    if (size !== undefined) this.#sizes.set(expr, size);
    const entries = this.#entriesOf(arg);
    if (entries !== undefined) this.#entries.set(expr, entries);
    return addRanges(cost, one);
  }

  /** The element read by an index. */
  #indexed(expr: Call, id: string): Range | undefined {
    const [container] = expr.args;
    const part = id === "index_list" ? "@items" : id === "index_map" ? "@values" : undefined;
    if (part === undefined || container === undefined) return undefined;
    this.#paths.set(expr, [...this.#pathOf(container), part]);
    return this.#entriesOf(container)?.value;
  }

  #overload(
    expr: Call,
    { name }: Resolved,
    id: string,
    target: Expr | undefined,
    costs: readonly Range[],
  ): { readonly cost: Range; readonly size: Range | undefined } {
    const args = expr.args.map((arg) => this.#node(arg));
    const known = estimateCall(
      name,
      id,
      target === undefined ? undefined : this.#node(target),
      args,
      this.#estimateSize,
    );
    if (known !== undefined) {
      return { cost: addRanges(known.cost, sum(costs)), size: known.resultSize };
    }
    return this.#standard(expr, id, target, costs);
  }

  #standard(
    expr: Call,
    id: string,
    target: Expr | undefined,
    costs: readonly Range[],
  ): { readonly cost: Range; readonly size: Range | undefined } {
    const [a = nothing, b = nothing, c = nothing] = costs;
    const total = sum(costs);
    const sizes = expr.args.map((arg) => this.#sizeOrUnknown(arg));
    const [first = unknownRange, second = unknownRange] = sizes;
    const plain = (cost: Range, size?: Range): { cost: Range; size: Range | undefined } => ({
      cost: addRanges(cost, total),
      size,
    });
    switch (id) {
      case "logical_or":
      case "logical_and":
        return { cost: { min: a.min, max: addRanges(a, b).max }, size: undefined };
      case "conditional":
        return this.#conditional(expr, addRanges(a, uniteRanges(b, c)));
      case "string_format":
        return plain(
          scaleRange(
            target === undefined ? unknownRange : this.#sizeOrUnknown(target),
            characterCost,
          ),
        );
      case "string_to_bytes":
        return plain(scaleRange(first, characterCost), { min: first.min, max: cap(first.max * 4) });
      case "bytes_to_string":
        return plain(scaleRange(first, characterCost), {
          min: Math.floor(first.min / 4),
          max: first.max,
        });
      case "strings_quote":
        return plain(scaleRange(first, characterCost), {
          min: first.min + 2,
          max: cap(first.max * 2 + 2),
        });
      case "starts_with_string":
      case "ends_with_string":
        return plain(scaleRange(first, characterCost));
      case "in_list":
        return plain(second);
      case "matches_string":
        return plain(matching(target === undefined ? first : this.#sizeOrUnknown(target), first));
      case "matches":
        return plain(matching(first, second));
      case "contains_string": {
        const text = target === undefined ? unknownRange : this.#sizeOrUnknown(target);
        return plain(
          multiplyRanges(scaleRange(text, characterCost), scaleRange(first, characterCost)),
        );
      }
      case "add_string":
      case "add_bytes":
      case "add_list":
        return this.#concatenation(expr, id, addRanges(first, second), total);
      default:
        return plain(isComparison(id) ? comparison(first, second) : one);
    }
  }

  #conditional(
    expr: Call,
    cost: Range,
  ): { readonly cost: Range; readonly size: Range | undefined } {
    const [, then, otherwise] = expr.args;
    if (then === undefined || otherwise === undefined) return { cost, size: undefined };
    const entries = uniteEntries(this.#entriesOf(then), this.#entriesOf(otherwise));
    if (entries !== undefined) this.#entries.set(expr, entries);
    return { cost, size: uniteRanges(this.#sizeOrUnknown(then), this.#sizeOrUnknown(otherwise)) };
  }

  #concatenation(
    expr: Call,
    id: string,
    size: Range,
    total: Range,
  ): { readonly cost: Range; readonly size: Range | undefined } {
    const [left, right] = expr.args;
    if (left !== undefined && right !== undefined) {
      const entries = uniteEntries(this.#entriesOf(left), this.#entriesOf(right));
      if (entries !== undefined) this.#entries.set(expr, entries);
    }
    const cost = id === "add_list" ? one : scaleRange(size, characterCost);
    return { cost: addRanges(cost, total), size };
  }

  #comprehension(expr: Comprehension): Range {
    const before = addRanges(this.cost(expr.range), this.cost(expr.init));
    this.#push(expr.accuVar, {
      path: this.#pathOf(expr.init),
      size: this.#sizeOf(expr.init),
      entries: this.#entriesOf(expr.init),
    });
    if (isBind(expr)) return this.#bind(expr, before);
    this.#pushIteration(expr);
    const condition = this.cost(expr.condition);
    const step = this.cost(expr.step);
    this.#pop(expr.iterVar);
    if (expr.iterVar2 !== undefined) this.#pop(expr.iterVar2);
    const result = this.cost(expr.result);
    this.#pop(expr.accuVar);
    const count = this.#sizeOrUnknown(expr.range);
    this.#sizeOfFold(expr, count);
    return addRanges(addRanges(before, result), multiplyRanges(count, addRanges(step, condition)));
  }

  #sizeOfFold(expr: Comprehension, count: Range): void {
    const size = expr.init.kind === "literal" ? this.#sizeOf(expr.init) : count;
    if (size !== undefined) this.#sizes.set(expr, size);
    const entries = expr.init.kind === "literal" ? undefined : this.#entriesOf(expr.step);
    if (entries !== undefined) this.#entries.set(expr, entries);
  }

  #bind(expr: Comprehension, before: Range): Range {
    const cost = addRanges(before, this.cost(expr.result));
    const size = this.#sizeOf(expr.result);
    if (size !== undefined) this.#sizes.set(expr, size);
    const entries = this.#entriesOf(expr.result);
    if (entries !== undefined) this.#entries.set(expr, entries);
    this.#pop(expr.accuVar);
    return cost;
  }

  #pushIteration({ range, iterVar, iterVar2 }: Comprehension): void {
    const entries = this.#entriesOf(range);
    const isList = entries?.isList ?? this.#checked.typeOf(range).name === "list";
    const path = this.#pathOf(range);
    const local = (part: string, size: Range | undefined): Local => ({
      path: [...path, part],
      size,
      entries: undefined,
    });
    const keys = local(isList ? "@indices" : "@keys", entries?.key);
    const values = local(isList ? "@items" : "@values", entries?.value);
    if (iterVar2 !== undefined) {
      this.#push(iterVar, keys);
      this.#push(iterVar2, values);
    } else this.#push(iterVar, isList ? values : keys);
  }

  #node(expr: Expr): EstimateNode {
    const path = this.#pathOf(expr);
    const isRooted = path.length > 0 && path[0] !== "@result";
    const size = this.#sizeOf(expr);
    return {
      type: this.#checked.typeOf(expr),
      ...(isRooted ? { path } : {}),
      ...given({ size }),
      ...(expr.kind === "literal" ? { literal: expr.value } : {}),
    };
  }

  #sizeOrUnknown(expr: Expr): Range {
    return this.#sizeOf(expr) ?? unknownRange;
  }

  #sizeOf(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr) ?? writtenSize(expr);
    if (known !== undefined) return known;
    const type = this.#checked.typeOf(expr);
    const path = this.#pathOf(expr);
    const declared = this.#estimateSize({ type, ...(path.length === 0 ? {} : { path }) });
    if (declared !== undefined) return declared;
    if (isScalar(type)) return one;
    return expr.kind === "ident" ? this.#local(expr.name)?.size : undefined;
  }

  #entriesOf(expr: Expr): Entries | undefined {
    const known = this.#entries.get(expr);
    if (known !== undefined || expr.kind !== "ident") return known;
    return this.#local(expr.name)?.entries;
  }
}

function isBind({ range, condition, accuVar }: Comprehension): boolean {
  const isEmpty = range.kind === "list" && range.items.length === 0;
  return (
    isEmpty && condition.kind === "literal" && condition.value === false && accuVar !== "@result"
  );
}

function writtenSize(expr: Expr): Range | undefined {
  if (expr.kind === "list") return fixedRange(expr.items.length);
  if (expr.kind === "map") return fixedRange(expr.entries.length);
  if (expr.kind !== "literal") return undefined;
  const { value } = expr;
  if (typeof value === "string") return fixedRange(textLength(value));
  return value instanceof Uint8Array ? fixedRange(value.length) : one;
}

const scalarNames: ReadonlySet<string> = new Set([
  "bool",
  "double",
  "int",
  "uint",
  "google.protobuf.Duration",
  "google.protobuf.Timestamp",
]);

function isScalar(type: Type): boolean {
  if (scalarNames.has(type.name)) return true;
  const [inner] = type.parameters;
  return type.name === "optional_type" && inner !== undefined && isScalar(inner);
}

const comparisons =
  /^(?:equals|not_equals|(?:less|less_equals|greater|greater_equals)_(?:string|bytes))$/;

function isComparison(id: string): boolean {
  return comparisons.test(id);
}

function comparison(left: Range, right: Range): Range {
  const max = Math.min(left.max, right.max);
  return scaleRange({ min: max > 0 ? 1 : 0, max }, characterCost);
}

function matching(text: Range, pattern: Range): Range {
  const reading = scaleRange(addRanges(text, one), characterCost);
  return multiplyRanges(reading, scaleRange(pattern, patternCost));
}

function sum(ranges: readonly Range[]): Range {
  return ranges.reduce(addRanges, nothing);
}

function unite(ranges: readonly Range[]): Range {
  const [first, ...rest] = ranges;
  return first === undefined ? nothing : rest.reduce(uniteRanges, first);
}

function unionOf(a: Range | undefined, b: Range | undefined): Range | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return uniteRanges(a, b);
}

function uniteEntries(a: Entries | undefined, b: Entries | undefined): Entries | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { isList: a.isList, key: uniteRanges(a.key, b.key), value: uniteRanges(a.value, b.value) };
}

function cap(value: number): number {
  return Math.min(value, unlimited);
}
