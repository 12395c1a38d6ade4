/**
 * JSONPath over parsed JSON, in the Kubernetes dialect (json-path-parser.ts).
 *
 *   firstValue(parseJsonPath(".status.conditions[?(@.type=='Ready')].status"), object)
 *   printTemplate(parseTemplate('{.metadata.name} {.spec.host}{"\n"}'), object)
 *
 * Holds  a missing field yields nothing and is no error (client-go's AllowMissingKeys, which kubectl and
 *        printer columns use). An index out of bounds, a filter or index on a value that is no array, and a
 *        comparison of unlike values are JsonPathErrors with upstream's texts.
 * Differs  members of an object are visited in key order, where Go's order is random; a number counts
 *        as an integer when its value is one, however it was written.
 */
import { isRecord } from "#base/is-record.ts";
import { goValue } from "../go/go-value.ts";
import {
  type Action,
  JsonPathError,
  parseActions,
  type PathNode,
  type SliceBound,
} from "./json-path-parser.ts";

export { JsonPathError } from "./json-path-parser.ts";

export interface JsonPath {
  readonly nodes: readonly PathNode[];
}

export interface JsonPathTemplate {
  readonly actions: readonly Action[];
}

/** One path without braces, as a printer column has it: `.spec.replicas`. Throws JsonPathError. */
export function parseJsonPath(text: string): JsonPath {
  return { nodes: parseActions(`{${text}}`)[0] ?? [] };
}

/** Text with paths in braces, `{range}` and `{end}` included. Throws JsonPathError. */
export function parseTemplate(text: string): JsonPathTemplate {
  return { actions: parseActions(text) };
}

/** All values at the path, in order. Throws JsonPathError. */
export function findValues(path: JsonPath, data: unknown): readonly unknown[] {
  valuesLeft = valuesMax;
  return evaluate(path.nodes, [data]).map(plain);
}

/** Number of values that several evaluations may still visit together. */
export interface PathBudget {
  left: number;
}

/** The value for a printer column; undefined when there is none, the path fails, or the budget is used up. */
export function firstValue(
  path: JsonPath,
  data: unknown,
  budget: PathBudget = { left: valuesMax },
): unknown {
  valuesLeft = Math.min(valuesMax, budget.left);
  const before = valuesLeft;
  try {
    if (before <= 0) return undefined;
    return evaluate(path.nodes, [data]).map(plain)[0];
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  } finally {
    budget.left -= before - valuesLeft;
  }
}

/** How values are converted to text. */
export interface PrintRules {
  /** Formatters that a template may name before a path: `{upper .metadata.name}`. */
  readonly formatters: ReadonlyMap<string, (text: string) => string>;
  /** Applied last to every value, but not to the template's own text. */
  readonly escape: (text: string) => string;
  /** In characters; a longer text throws JsonPathError. */
  readonly lengthMax: number;
}

const plainRules: PrintRules = {
  formatters: new Map(),
  escape: (text) => text,
  lengthMax: Number.POSITIVE_INFINITY,
};

/** Values as kubectl prints them: several with a space between. Throws JsonPathError. */
export function printTemplate(
  template: JsonPathTemplate,
  data: unknown,
  rules: PrintRules = plainRules,
): string {
  valuesLeft = valuesMax;
  const out = new Printed(rules);
  execute(template.actions, 0, data, 0, out);
  return out.parts.join("");
}

class Printed {
  readonly parts: string[] = [];
  readonly #rules: PrintRules;
  #left: number;

  constructor(rules: PrintRules) {
    this.#rules = rules;
    this.#left = rules.lengthMax;
  }

  add(action: Action, data: unknown): void {
    const [first] = action;
    if (first?.kind === "text" && action.length === 1) return this.#push(first.text);
    const { formatters, escape } = this.#rules;
    const format = first?.kind === "identifier" ? formatters.get(first.name) : undefined;
    const values = evaluate(format === undefined ? action : action.slice(1), [data]);
    const texts = this.#texts(values);
    this.#push(escape((format === undefined ? texts : texts.map(format)).join(" ")));
  }

  /** Values may lie within each other (`..`): together they are much longer than the object. */
  #texts(values: readonly unknown[]): readonly string[] {
    let left = this.#left;
    return values.map((value) => {
      const text = printValue(plain(value));
      left -= text.length;
      if (left < 0) throw tooLong();
      return text;
    });
  }

  #push(text: string): void {
    this.#left -= text.length;
    if (this.#left < 0) throw tooLong();
    this.parts.push(text);
  }
}

function tooLong(): JsonPathError {
  return new JsonPathError("the text becomes too long");
}

export function printValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return value;
  if (typeof value === "object") return goJson(value);
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "bigint") return String(value);
  // JSON has no other types.
  return isInt64(value as number) ? String(value as number) : goFloat(value as number);
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

/** Why a template cannot work for any data: unknown identifiers, or an `end` without a `range`. */
export function templateProblem(
  template: JsonPathTemplate,
  { formatters }: Pick<PrintRules, "formatters"> = plainRules,
): string | undefined {
  let depth = 0;
  for (const action of template.actions) {
    for (const [at, node] of action.entries()) {
      if (node.kind !== "identifier" || (at === 0 && formatters.has(node.name))) continue;
      if (node.name === "range") depth++;
      else if (node.name !== "end") return `unrecognized identifier ${node.name}`;
      else if (--depth < 0) return "not in range, nothing to end";
    }
  }
  return depth > 0 ? "range without end" : undefined;
}

/** Runs actions until the `end` of this depth. @returns its index. */
function execute(
  actions: readonly Action[],
  start: number,
  data: unknown,
  depth: number,
  out: Printed,
): number {
  for (let at = start; at < actions.length; at++) {
    const action = actions[at] ?? [];
    if (isIdentifier(action, "end")) {
      if (depth === 0) throw new JsonPathError("not in range, nothing to end");
      return at;
    }
    if (!isIdentifier(action, "range")) {
      out.add(action, data);
      continue;
    }
    for (const value of evaluate(action, [data])) execute(actions, at + 1, value, depth + 1, out);
    at = endOf(actions, at);
  }
  return actions.length;
}

/** Index of the `end` that closes the range at `start`. */
function endOf(actions: readonly Action[], start: number): number {
  let depth = 0;
  for (let at = start; at < actions.length; at++) {
    const action = actions[at] ?? [];
    if (isIdentifier(action, "range")) depth++;
    else if (isIdentifier(action, "end") && --depth === 0) return at;
  }
  return actions.length;
}

function isIdentifier(action: Action, name: string): boolean {
  return action.some((node) => node.kind === "identifier" && node.name === name);
}

/** A number written with a decimal point in the path itself. */
class GoFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

function plain(value: unknown): unknown {
  return value instanceof GoFloat ? value.value : value;
}

function evaluate(nodes: readonly PathNode[], input: readonly unknown[]): readonly unknown[] {
  let values = input;
  for (const node of nodes) {
    values = step(node, values);
    spend(values.length);
  }
  return values;
}

/**
 * Maximum number of values that one evaluation may visit: a few milliseconds. `..a..a..a` is cubic in the depth of an
 * object, and the author of a definition chooses the path of a printer column.
 */
const valuesMax = 100_000;
/** Budget of the current evaluation, which is synchronous. */
let valuesLeft = valuesMax;

function spend(values: number): void {
  valuesLeft -= values;
  if (valuesLeft < 0) throw new JsonPathError("the path leads to too many values");
}

function step(node: PathNode, input: readonly unknown[]): readonly unknown[] {
  switch (node.kind) {
    case "text":
      return [node.text];
    case "literal":
      return input.map(() => node.value);
    case "float":
      return input.map(() => new GoFloat(node.value));
    case "field":
      return input.flatMap((value) => field(value, node.name));
    case "wildcard":
      return input.flatMap(children);
    case "recursive":
      return input.flatMap(descendants);
    case "slice":
      return input.flatMap((value) => sliceValues(value, node.bounds));
    case "union":
      return node.paths.flatMap((path) => evaluate(path, input));
    case "filter":
      return input.flatMap((value) => filterValues(value, node));
    case "identifier":
      if (node.name === "range" || node.name === "end") return input;
      throw new JsonPathError(`unrecognized identifier ${node.name}`);
    default:
      return node satisfies never;
  }
}

function field(value: unknown, name: string): readonly unknown[] {
  return isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : [];
}

/** Go also indexes strings by byte; that yields nothing and is omitted. */
function children(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isRecord(value)) return [];
  return Object.keys(value)
    .sort()
    .map((key) => value[key]);
}

/** The value and all values below it that have children, parents first. */
function descendants(root: unknown): readonly unknown[] {
  const found: unknown[] = [];
  const waiting = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    const below = children(value);
    spend(1 + below.length);
    for (let at = below.length - 1; at >= 0; at--) waiting.push(below[at]);
    if (below.length > 0 || (typeof value === "string" && value !== "")) found.push(value);
  }
  return found;
}

function sliceValues(
  value: unknown,
  [startBound, endBound, stepBound]: readonly [SliceBound, SliceBound, SliceBound],
): readonly unknown[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw new JsonPathError(`${goType(value)} is not array or slice`);
  const { length } = value;
  const start = fromEnd(startBound.value ?? 0, length, false);
  const end = fromEnd(endBound.value ?? length, length, endBound.isDerived);
  if (start === end) return [];
  if (start >= length || start < 0) throw outOfBounds(start, length);
  if (end > length || end < 0) throw outOfBounds(end - 1, length);
  if (start > end) {
    throw new JsonPathError(`starting index ${start} is greater than ending index ${end}`);
  }
  const stride = stepBound.value ?? 1;
  if (stride <= 0) throw new JsonPathError("step must be > 0");
  return value.slice(start, end).filter((_item, at) => at % stride === 0);
}

/** For the plain index -1 the derived end is 0, which means the length. */
function fromEnd(bound: number, length: number, derived: boolean): number {
  return bound < 0 || (bound === 0 && derived) ? bound + length : bound;
}

function outOfBounds(index: number, length: number): JsonPathError {
  return new JsonPathError(`array index out of bounds: index ${index}, length ${length}`);
}

type Filter = Extract<PathNode, { kind: "filter" }>;

function filterValues(value: unknown, filter: Filter): readonly unknown[] {
  if (Array.isArray(value)) return value.filter((item) => passes(item, filter));
  throw new JsonPathError(`${goValue(value)} is not array or slice and cannot be filtered`);
}

function passes(item: unknown, { left, operator, right }: Filter): boolean {
  if (operator === "exists") return exists(left, item);
  const a = single(evaluate(left, [item]));
  if (a === undefined) return false;
  const b = single(evaluate(right, [item]));
  return b !== undefined && compare(operator, a.value, b.value);
}

/** As upstream, a path that fails (an index out of bounds) counts as existing. */
function exists(path: readonly PathNode[], item: unknown): boolean {
  try {
    return evaluate(path, [item]).length > 0;
  } catch (error) {
    if (error instanceof JsonPathError) return true;
    throw error;
  }
}

function single(values: readonly unknown[]): { readonly value: unknown } | undefined {
  if (values.length > 1) throw new JsonPathError("can only compare one element at a time");
  return values.length === 0 ? undefined : { value: values[0] };
}

function compare(operator: string, a: unknown, b: unknown): boolean {
  switch (operator) {
    case "==":
      return isEqual(a, b);
    case "!=":
      return !isEqual(a, b);
    case "<":
      return isLess(a, b);
    case "<=":
      return isLess(a, b) || isEqual(a, b);
    case ">":
      return !(isLess(a, b) || isEqual(a, b));
    case ">=":
      return !isLess(a, b);
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

type Basic = "bool" | "int" | "float" | "string";

function basicKind(value: unknown): Basic {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (value instanceof GoFloat) return "float";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return isInt64(value) ? "int" : "float";
  throw new JsonPathError("invalid type for comparison");
}

function commonKind(a: unknown, b: unknown): Basic {
  const kind = basicKind(a);
  if (basicKind(b) === kind) return kind;
  throw new JsonPathError("incompatible types for comparison");
}

function isEqual(a: unknown, b: unknown): boolean {
  commonKind(a, b);
  return plain(a) === plain(b);
}

function isLess(a: unknown, b: unknown): boolean {
  const kind = commonKind(a, b);
  if (kind === "bool") throw new JsonPathError("invalid type for comparison");
  // Both have the same type, and JavaScript orders strings and numbers like Go.
  return (plain(a) as number | string) < (plain(b) as number | string);
}

function goType(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (typeof value === "object") return "map[string]interface {}";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "number") return isInt64(value) ? "int64" : "float64";
  return "string";
}

/** As encoding/json: members in key order; `<`, `>` and `&` escaped. */
function goJson(value: object): string {
  const text = JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
  return text.replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** As Go's %v: an exponent of at least two digits below 1e-4 and from 1e6 on. */
function goFloat(value: number): string {
  const [digits = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  const sign = exponent < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
