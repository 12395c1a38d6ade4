/** The functions of queries, by name and number of arguments, with jq's behavior. */
import { isRecord } from "#base/is-record.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { type Budget, TemplateError } from "../template/budget.ts";
import { compareJson } from "./json-order.ts";
import type { Query } from "./query-syntax.ts";

/** Evaluates a query on a value and returns all results. */
type Evaluate = (query: Query, value: unknown) => readonly unknown[];

type QueryFunction = (
  value: unknown,
  args: readonly Query[],
  evaluate: Evaluate,
  budget: Budget,
) => readonly unknown[];

export const queryFunctions: ReadonlyMap<string, QueryFunction> = new Map(
  Object.entries({
    "empty/0": () => [],
    "not/0": (value) => [!isTruthy(value)],
    "length/0": (value) => [lengthOf(value)],
    "keys/0": (value) => [keysOf(value)],
    "type/0": (value) => [typeOf(value)],
    "tostring/0": (value) => [typeof value === "string" ? value : JSON.stringify(value ?? null)],
    "tonumber/0": (value) => [numberOf(value)],
    "ascii_downcase/0": (value) => [textOf(value).toLowerCase()],
    "ascii_upcase/0": (value) => [textOf(value).toUpperCase()],
    "first/0": (value) => [listOf(value)[0] ?? null],
    "last/0": (value) => [listOf(value).at(-1) ?? null],
    "any/0": (value) => [listOf(value).some(isTruthy)],
    "all/0": (value) => [listOf(value).every(isTruthy)],
    "sort/0": (value) => [listOf(value).toSorted(compareJson)],
    "to_entries/0": (value) => [
      Object.entries(mapOf(value)).map(([key, one]) => ({ key, value: one })),
    ],
    "select/1": (value, [test], evaluate) =>
      given(test, value, evaluate).flatMap((one) => (isTruthy(one) ? [value] : [])),
    "map/1": (value, [body], evaluate) => [
      listOf(value).flatMap((one) => given(body, one, evaluate)),
    ],
    "any/1": (value, [test], evaluate) => [
      listOf(value).some((one) => given(test, one, evaluate).some(isTruthy)),
    ],
    "all/1": (value, [test], evaluate) => [
      listOf(value).every((one) => given(test, one, evaluate).every(isTruthy)),
    ],
    "has/1": (value, [key], evaluate) => given(key, value, evaluate).map((one) => has(value, one)),
    "startswith/1": (value, [part], evaluate) =>
      given(part, value, evaluate).map((one) => textOf(value).startsWith(textOf(one))),
    "endswith/1": (value, [part], evaluate) =>
      given(part, value, evaluate).map((one) => textOf(value).endsWith(textOf(one))),
    "contains/1": (value, [part], evaluate) =>
      given(part, value, evaluate).map((one) => contains(value, one)),
    "split/1": (value, [by], evaluate, budget) => {
      budget.step(textOf(value).length);
      return given(by, value, evaluate).map((one) => textOf(value).split(textOf(one)));
    },
    "join/1": (value, [by], evaluate) =>
      given(by, value, evaluate).map((one) => listOf(value).map(String).join(textOf(one))),
  } satisfies Readonly<Record<string, QueryFunction>>),
);

/** As in jq: every value except false and null is true. */
export function isTruthy(value: unknown): boolean {
  return value !== false && value !== null && value !== undefined;
}

export function typeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  return isRecord(value) ? "object" : typeof value;
}

function given(query: Query | undefined, value: unknown, evaluate: Evaluate): readonly unknown[] {
  return query === undefined ? [] : evaluate(query, value);
}

function lengthOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "string") return Array.from(value).length;
  if (typeof value === "number") return Math.abs(value);
  if (Array.isArray(value)) return value.length;
  return Object.keys(mapOf(value)).length;
}

function keysOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.map((_one, at) => at);
  return Object.keys(mapOf(value)).toSorted();
}

function has(value: unknown, key: unknown): boolean {
  if (Array.isArray(value)) return typeof key === "number" && key >= 0 && key < value.length;
  return Object.hasOwn(mapOf(value), textOf(key));
}

function contains(value: unknown, part: unknown): boolean {
  if (typeof value === "string" && typeof part === "string") return value.includes(part);
  if (Array.isArray(value) && Array.isArray(part)) {
    return part.every((one) => value.some((other) => contains(other, one)));
  }
  if (isRecord(value) && isRecord(part)) {
    return Object.entries(part).every(
      ([key, one]) => Object.hasOwn(value, key) && contains(value[key], one),
    );
  }
  return jsonEqual(value, part);
}

function numberOf(value: unknown): number {
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof read === "number" && Number.isFinite(read)) return read;
  throw new TemplateError(`${typeOf(value)} cannot be parsed as a number`);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new TemplateError(`${typeOf(value)} is no string`);
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isRecord(value)) return Object.values(value);
  throw new TemplateError(`cannot iterate over ${typeOf(value)}`);
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  throw new TemplateError(`${typeOf(value)} has no keys`);
}
