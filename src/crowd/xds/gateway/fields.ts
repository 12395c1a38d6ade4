/** Reads custom resources without trust: their definition may differ or allow anything. */
import { isRecord } from "#base/is-record.ts";

export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = {};

/** Returns the fields of an object; empty if the value is not an object. */
export function fields(value: unknown): Fields {
  // Narrowed to a JSON object.
  return isRecord(value) ? (value as Fields) : none;
}

/** Returns the elements of a list; empty if the value is not a list. */
export function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

/** Returns a non-negative integer; undefined for any other value. */
export function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
