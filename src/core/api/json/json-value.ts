/**
 * Mutable JSON: patches work on private copies of this type and return the result as JsonValue, which is
 * never changed. The decoder bounds depth; callers bound sizes.
 */
import { copyLiterals } from "#base/exact-json.ts";
import { isRecord } from "#base/is-record.ts";
import type { JsonValue } from "../object.ts";

export type MutableJson = null | boolean | number | string | MutableJson[] | MutableObject;
export interface MutableObject {
  [field: string]: MutableJson;
}

export function isJsonObject(value: unknown): value is MutableObject {
  return isRecord(value);
}

/** The JSON type as Go's decoder names it. */
export function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "number";
  return value === null ? "null" : typeof value;
}

/** A deep copy without undefined fields. */
export function cloneJson(value: unknown): MutableJson {
  if (Array.isArray(value)) return value.map(cloneJson);
  if (!isJsonObject(value)) return value as MutableJson; // a scalar
  const copy: MutableObject = {};
  for (const [field, member] of Object.entries(value)) {
    if (member !== undefined) setField(copy, field, cloneJson(member));
  }
  return copy;
}

/** A deep copy of a patch that preserves the spelling of numbers for the decoder. */
export function clonePatch(value: unknown): MutableJson {
  if (Array.isArray(value)) {
    const copy = value.map(clonePatch);
    copyLiterals(value, copy);
    return copy;
  }
  if (!isJsonObject(value)) return value as MutableJson; // a scalar
  const copy: MutableObject = {};
  for (const [field, member] of Object.entries(value)) {
    if (member !== undefined) setField(copy, field, clonePatch(member));
  }
  copyLiterals(value, copy);
  return copy;
}

/** Assigns without ever touching a prototype: in JSON, `__proto__` is an ordinary field. */
export function setField(object: MutableObject, field: string, value: MutableJson): void {
  if (field !== "__proto__") object[field] = value;
  else
    Object.defineProperty(object, field, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
}

/** The own field, or undefined: `constructor` is not a field of an empty object. */
export function getField(object: MutableObject, field: string): MutableJson | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/**
 * Deep equality. An absent field equals an undefined one, and key order does not matter.
 *
 * `different` collects the objects and lists of `a` that contain a difference. A caller that compares one level
 * deeper passes it again, so that a whole comparison walks each value at most twice, however deep it is.
 */
export function jsonEqual(a: unknown, b: unknown, different?: Set<object>): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || a === null || different?.has(a) === true) return false;
  const isEqual = Array.isArray(a)
    ? Array.isArray(b) && sameItems(a, b, different)
    : isJsonObject(b) && sameFields(a as MutableObject, b, different);
  if (!isEqual) different?.add(a);
  return isEqual;
}

/** A loop instead of `every`: objects are compared field by field very often, and closures would be garbage. */
function sameItems(a: readonly unknown[], b: readonly unknown[], different?: Set<object>): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    if (!jsonEqual(a[at], b[at], different)) return false;
  }
  return true;
}

function sameFields(a: MutableObject, b: MutableObject, different?: Set<object>): boolean {
  for (const field of Object.keys(a)) {
    if (!jsonEqual(a[field], getField(b, field), different)) return false;
  }
  for (const field of Object.keys(b)) {
    if (b[field] !== undefined && getField(a, field) === undefined) return false;
  }
  return true;
}

/** Casts a finished value to its readonly type; its creator must not change it any more. */
export function freezeType(value: MutableJson): JsonValue {
  return value;
}
