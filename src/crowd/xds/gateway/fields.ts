/** Reads custom resources: their definition may be another than we know, or let anything through. */
import { isRecord } from "#base/is-record.ts";

export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = {};

/** Empty when it is no object. */
export function fields(value: unknown): Fields {
  // Narrowed: what JSON calls an object.
  return isRecord(value) ? (value as Fields) : none;
}

/** Empty when it is no list. */
export function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

/** A whole number from 0 on. */
export function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
