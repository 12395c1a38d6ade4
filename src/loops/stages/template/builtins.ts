/** The functions of Go's text/template. `and` and `or` are in run.ts, because they do not evaluate all arguments. */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { type Args, counted, text } from "./arguments.ts";
import { TemplateError } from "./budget.ts";
import { formatText } from "./format.ts";
import type { TemplateFunction } from "./run.ts";
import { isTrue, kindOf, textOf } from "./values.ts";

export const builtins: Readonly<Record<string, TemplateFunction>> = {
  // Listed here so that the names are known; run.ts evaluates them.
  and: (args) => args.at(-1),
  or: (args) => args.at(-1),
  not(args) {
    counted(args, 1);
    return !isTrue(args[0]);
  },
  len(args) {
    counted(args, 1);
    const [value] = args;
    if (typeof value === "string") return new TextEncoder().encode(value).length;
    if (Array.isArray(value)) return value.length;
    if (isRecord(value)) return Object.keys(value).length;
    throw new TemplateError(`len of type ${kindOf(value)}`);
  },
  index: (args) => args.slice(1).reduce<unknown>(indexed, args[0]),
  slice(args) {
    const [value, from = 0, to] = args;
    if (typeof value !== "string" && !Array.isArray(value)) {
      throw new TemplateError(`can't slice item of type ${kindOf(value)}`);
    }
    const [start, end] = [Number(from), Number(to ?? value.length)];
    if (!(start >= 0 && end <= value.length && start <= end)) {
      throw new TemplateError(`index out of range: ${start}:${end}`);
    }
    return value.slice(start, end);
  },
  print: (args) => args.map(textOf).join(""),
  println: (args) => `${args.map(textOf).join(" ")}\n`,
  printf: ([format, ...args], budget) => formatText(text(format), args, budget),
  urlquery: (args) => encodeURIComponent(args.map(textOf).join("")),
  html: (args) =>
    args
      .map(textOf)
      .join("")
      .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`),
  js: (args) => JSON.stringify(args.map(textOf).join("")).slice(1, -1),
  eq: ([first, ...others]) => others.some((other) => isEqual(first, other)),
  ne: (args) => !isEqual(args[0], args[1]),
  lt: (args) => order(args) < 0,
  le: (args) => order(args) <= 0,
  gt: (args) => order(args) > 0,
  ge: (args) => order(args) >= 0,
};

function indexed(value: unknown, key: unknown): unknown {
  if (value === undefined || value === null) throw new TemplateError("index of untyped nil");
  if (Array.isArray(value)) {
    const at = Number(key);
    if (!Number.isInteger(at) || at < 0 || at >= value.length) {
      throw new TemplateError(`index out of range: ${text(key)}`);
    }
    return value[at];
  }
  if (!isRecord(value)) throw new TemplateError(`can't index item of type ${kindOf(value)}`);
  const name = text(key);
  return ownEntry(value, name);
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a === undefined || a === null) return b === undefined || b === null;
  if (isRecord(a) || isRecord(b)) throw new TemplateError("non-comparable type");
  return jsonEqual(a, b);
}

function order(args: Args): number {
  counted(args, 2);
  const [a, b] = args;
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  throw new TemplateError(`incompatible types for comparison: ${kindOf(a)} and ${kindOf(b)}`);
}
