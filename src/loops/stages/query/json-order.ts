/** Compares values in jq's order: null, false, true, numbers, strings, lists, maps. */
import { isRecord } from "#base/is-record.ts";

export function compareJson(a: unknown, b: unknown): number {
  const [first, second] = [rank(a), rank(b)];
  if (first !== second) return first - second;
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [textOf(a), textOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function rank(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (value === false) return 1;
  if (value === true) return 2;
  if (typeof value === "number") return 3;
  if (typeof value === "string") return 4;
  return isRecord(value) ? 6 : 5;
}

/** Compares lists and maps by their JSON text. This is an order, though not jq's. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
