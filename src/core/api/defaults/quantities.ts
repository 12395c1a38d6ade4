/**
 * Resource lists are stored in canonical form: nothing finer than a thousandth, and in the one form in which their
 * value prints (`1000m` is stored as `1`). A value that is no quantity is kept, for validation to refuse.
 */
import {
  formatQuantity,
  milliValue,
  quantityOfMilli,
  tryParseQuantity,
} from "../values/quantity.ts";
import type { Fields } from "../validation/fields.ts";
import { isFields } from "../validation/fields.ts";
import type { Rule } from "./rules.ts";

export function resourceLists(...names: readonly string[]): Rule {
  return (fields) => {
    let next = fields;
    for (const name of names) {
      const list = next[name];
      if (!isFields(list)) continue;
      const canonical = canonicalList(list);
      if (canonical !== list) next = { ...next, [name]: canonical };
    }
    return next;
  };
}

/** Single quantities: canonical, but not rounded. */
export function quantities(...names: readonly string[]): Rule {
  return (fields) => {
    let next = fields;
    for (const name of names) {
      const value = next[name];
      if (value === undefined || value === null) continue;
      const canonical = canonicalText(value, false);
      if (canonical !== value) next = { ...next, [name]: canonical };
    }
    return next;
  };
}

function canonicalList(list: Fields): Fields {
  let next: Record<string, unknown> | undefined;
  for (const name in list) {
    const canonical = canonicalText(list[name], true);
    if (canonical === list[name]) continue;
    next ??= { ...list };
    next[name] = canonical;
  }
  return next ?? list;
}

function canonicalText(value: unknown, toMilli: boolean): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  const quantity = tryParseQuantity(value);
  if (quantity === undefined) return value;
  if (!toMilli || quantity.nanos % 1_000_000n === 0n) return formatQuantity(quantity);
  return formatQuantity(quantityOfMilli(milliValue(quantity), quantity.format));
}
