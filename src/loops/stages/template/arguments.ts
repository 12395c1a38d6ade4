/** Reads arguments of template functions with checks. */
import { isRecord } from "#base/is-record.ts";
import { dictionary } from "#base/own.ts";
import { TemplateError } from "./budget.ts";
import { textOf } from "./values.ts";

export type Args = readonly unknown[];

export function counted(args: Args, least: number, most = least): void {
  if (args.length >= least && args.length <= most) return;
  const wanted = least === most ? String(least) : `${least} to ${most}`;
  throw new TemplateError(`wrong number of args: want ${wanted} got ${args.length}`);
}

/** Converts any value to text; an absent value is "". */
export function text(value: unknown): string {
  return value === undefined || value === null ? "" : textOf(value);
}

/** Converts like sprig's int: a value that is not a number is 0. */
export function number(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(read) ? read : 0;
}

export function integer(value: unknown): number {
  return Math.trunc(number(value));
}

export function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw new TemplateError(`want a list, got ${textOf(value).slice(0, 100)}`);
}

export function map(value: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  if (value === undefined || value === null) return {};
  throw new TemplateError(`want a map, got ${textOf(value).slice(0, 100)}`);
}

/** Makes a map that has only the given names; `__proto__` is an ordinary name in it. */
export function mapOf(entries: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const made = dictionary<unknown>();
  for (const [name, value] of entries) made[name] = value;
  return made;
}
