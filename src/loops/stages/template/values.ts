/** Values of templates are JSON, absent ones undefined. These functions treat them as Go's text/template does. */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { TemplateError } from "./budget.ts";

/** As in Go: false, 0, "", nil, and empty lists and maps are false. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isRecord(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** Returns a field of a map. The fields of an absent value are absent. */
export function fieldOf(value: unknown, name: string): unknown {
  if (value === undefined || value === null) return undefined;
  if (isRecord(value)) return ownEntry(value, name);
  throw new TemplateError(`can't evaluate field ${name} in type ${kindOf(value)}`);
}

export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "invalid";
  if (Array.isArray(value)) return "slice";
  if (isRecord(value)) return "map";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float64";
  return typeof value;
}

/** Formats a value like `%v`. The budget of the run bounds the total size of lists and maps. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "<no value>";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(innerText).join(" ")}]`;
  if (!isRecord(value)) return "";
  return `map[${Object.keys(value)
    .toSorted()
    .map((key) => `${key}:${innerText(value[key])}`)
    .join(" ")}]`;
}

function innerText(value: unknown): string {
  return value === undefined || value === null ? "<nil>" : textOf(value);
}

/** Maximum size that is counted; larger than any budget. */
const sizeMax = 2_000_000;

/** Counts the characters and values of a value, including nested ones. Repeated values count repeatedly. Stops at about `sizeMax`. */
export function sizeOf(value: unknown): number {
  let count = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    count += typeof next === "string" ? 1 + next.length : 1;
    if (count > sizeMax) return count;
    if (typeof next !== "object" || next === null) continue;
    for (const one of Object.values(next)) rest.push(one);
  }
  return count;
}
