/** Counts, and numbers that may be percentages. Texts as upstream's apps/validation. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { has, maybeInteger, number } from "./fields.ts";
import { child, invalidEach, invalidValue, append } from "./errors.ts";
import { checkNonNegative, percentErrors } from "./text.ts";

/** None of these fields may be negative; absent ones are fine. */
export function checkCounters(
  out: FieldError[],
  fields: Fields,
  names: readonly string[],
  path: string,
): void {
  for (const name of names) checkNonNegative(out, maybeInteger(fields, name), child(path, name));
}

export function checkIntOrPercent(out: FieldError[], value: unknown, path: string): void {
  if (typeof value === "string") append(out, invalidEach(path, value, percentErrors(value)));
  else checkNonNegative(out, typeof value === "number" ? value : undefined, path);
}

export function checkAtMost100Percent(out: FieldError[], value: unknown, path: string): void {
  if (typeof value !== "string" || percentErrors(value).length > 0) return;
  if (Number(value.slice(0, -1)) > 100) {
    out.push(invalidValue(path, value, "must not be greater than 100%"));
  }
}

/** The number, or the number of a percentage, to be compared with zero. */
export function leadingNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && percentErrors(value).length === 0
    ? Number(value.slice(0, -1))
    : 0;
}

export function checkNotAbove(
  out: FieldError[],
  fields: Fields,
  names: readonly string[],
  bound: { readonly field: string; readonly detail: string; readonly path: string },
): void {
  for (const name of names) {
    if (number(fields, name) <= number(fields, bound.field)) continue;
    out.push(invalidValue(child(bound.path, name), number(fields, name), bound.detail));
  }
}

/** Counters that must not decrease. */
export function checkNotDecremented(
  out: FieldError[],
  next: Fields,
  old: Fields,
  path: string,
): void {
  if (!has(old, "collisionCount")) return;
  if (number(next, "collisionCount") >= number(old, "collisionCount")) return;
  const at = child(path, "collisionCount");
  out.push(invalidValue(at, number(next, "collisionCount"), "cannot be decremented"));
}
