/**
 * Reads fields of an untyped object. Absent, null and a value of the wrong type are all read as
 * absent: the decoder (schema) checks types, not the rules.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { type MutableJson, type MutableObject, setField } from "../json/json-value.ts";

export type Fields = { readonly [field: string]: unknown };

const nothing: Fields = Object.freeze({});
const noItems: readonly never[] = Object.freeze([]);
const noTexts: Readonly<Record<string, string>> = Object.freeze({});

export function isFields(value: unknown): value is Fields {
  return isRecord(value);
}

/** Whether a Go pointer is not nil; an empty struct, "", false and 0 count as set. */
export function has(fields: Fields, key: string): boolean {
  const value = ownEntry(fields, key);
  return value !== undefined && value !== null;
}

export function maybe(fields: Fields, key: string): Fields | undefined {
  const value = ownEntry(fields, key);
  return isFields(value) ? value : undefined;
}

/** The nested object, or an empty one. */
export function part(fields: Fields, key: string): Fields {
  const value = ownEntry(fields, key);
  return isFields(value) ? value : nothing;
}

export function text(fields: Fields, key: string): string {
  const value = ownEntry(fields, key);
  return typeof value === "string" ? value : "";
}

export function maybeText(fields: Fields, key: string): string | undefined {
  const value = ownEntry(fields, key);
  return typeof value === "string" ? value : undefined;
}

export function number(fields: Fields, key: string): number {
  return maybeNumber(fields, key) ?? 0;
}

/** Rounded beyond 2^53: for 32-bit fields, and where only a bound matters. */
export function maybeNumber(fields: Fields, key: string): number | undefined {
  const value = maybeInteger(fields, key);
  return value === undefined ? undefined : Number(value);
}

/** All 64 bits: for fields whose value is shown. */
export function maybeInteger(fields: Fields, key: string): number | bigint | undefined {
  const value = ownEntry(fields, key);
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
}

export function flag(fields: Fields, key: string): boolean {
  return ownEntry(fields, key) === true;
}

/** The objects of a list; anything else is returned as an empty object, so that indexes stay correct. */
export function items(fields: Fields, key: string): readonly Fields[] {
  const value = ownEntry(fields, key);
  if (!Array.isArray(value)) return noItems;
  return value.every(isFields) ? value : value.map((item) => (isFields(item) ? item : nothing));
}

export function texts(fields: Fields, key: string): readonly string[] {
  const value = ownEntry(fields, key);
  if (!Array.isArray(value)) return noItems;
  return value.map((item) => (typeof item === "string" ? item : ""));
}

export function count(fields: Fields, key: string): number {
  const value = ownEntry(fields, key);
  return Array.isArray(value) ? value.length : 0;
}

/** Objects by one of their texts; the first one if several share it. */
export function firstByText(list: readonly Fields[], key: string): ReadonlyMap<string, Fields> {
  const found = new Map<string, Fields>();
  for (const each of list) {
    const name = text(each, key);
    if (!found.has(name)) found.set(name, each);
  }
  return found;
}

/** A map of texts (labels, selectors, data) without entries of other types. */
export function textMap(fields: Fields, key: string): Readonly<Record<string, string>> {
  const value = ownEntry(fields, key);
  if (!isFields(value)) return noTexts;
  const entries = Object.values(value);
  if (entries.every((entry) => typeof entry === "string")) return value as Record<string, string>;
  return Object.fromEntries(Object.entries(value).filter(isTextEntry));
}

function isTextEntry(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === "string";
}

export function hasEntries(fields: Fields, key: string): boolean {
  const value = ownEntry(fields, key);
  if (!isFields(value)) return false;
  for (const _ in value) return true;
  return false;
}

/** Keys in Go's print order, so that findings about a map have a fixed order. */
export function sortKeys(map: Fields): readonly string[] {
  return Object.keys(map).sort(byText);
}

export function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A copy without some fields, made field by field, because objects stay slow after `delete`. */
export function without<T extends object, K extends keyof T>(
  fields: T,
  names: readonly K[],
): Omit<T, K> {
  const copy: MutableObject = {};
  const left: readonly PropertyKey[] = names;
  for (const [name, value] of Object.entries(fields)) {
    if (!left.includes(name)) setField(copy, name, value as MutableJson);
  }
  return copy as unknown as Omit<T, K>; // the fields of T but those
}
