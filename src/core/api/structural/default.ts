/**
 * Fills the default values of a schema into an object, on write and on read.
 *
 * Out    absent fields, and nulls where null is not allowed, are filled; `dropNulls` drops other nulls, for objects
 *        that are decoded. The same reference when nothing changed. Defaults are shared with the schema, never copied.
 * Holds  applying twice is the same as once: a default is complete when it is filled in.
 * After  apiextensions-apiserver pkg/apiserver/schema/defaulting (algorithm.go, prunenulls.go, prune.go).
 */
import { setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { pruneValue } from "./prune.ts";
import type { Structural } from "./structural.ts";

export function applyStructuralDefaults(object: JsonObject, structural: Structural): JsonObject {
  return structural.hasDefaults ? fillObject(object, structural) : object;
}

/** A default in the form in which it is set: pruned, without forbidden nulls, and with its own defaults. */
function defaultOf(node: Structural): JsonValue | undefined {
  const value = node.defaultValue;
  if (value === undefined) return undefined;
  const known = completed.get(node);
  if (known !== undefined) return known;
  const complete = fillValue(dropNullsBelow(pruneValue(value, node), node), node);
  completed.set(node, complete);
  return complete;
}

const completed = new WeakMap<Structural, JsonValue>();

/** Drops forbidden nulls that no default replaces; fields unknown to the schema stay. */
export function dropNulls(object: JsonObject, structural: Structural | undefined): JsonObject {
  let copy: MutableObject | undefined;
  const names = Object.keys(object);
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string; // at < length
    const value = object[name];
    if (value === undefined) continue;
    const node = nodeOf(structural, name);
    const isDropped =
      value === null && node !== undefined && !node.isNullable && node.defaultValue === undefined;
    const next = isDropped ? undefined : dropNullsBelow(value, node);
    if (next === value) {
      if (copy !== undefined) setField(copy, name, value as MutableJson); // never changed
      continue;
    }
    copy ??= firstFields(object, names, at);
    if (next !== undefined) setField(copy, name, next as MutableJson); // never changed
  }
  return copy ?? object;
}

function nodeOf(structural: Structural | undefined, name: string): Structural | undefined {
  if (structural === undefined) return undefined;
  const property = structural.property(name);
  if (property !== undefined) return property;
  const { additional } = structural;
  return typeof additional === "object" ? additional : undefined;
}

function firstFields(object: JsonObject, names: readonly string[], count: number): MutableObject {
  const copy: MutableObject = {};
  for (const name of names.slice(0, count)) setField(copy, name, object[name] as MutableJson); // never changed
  return copy;
}

function dropNullsBelow(value: JsonValue, node: Structural | undefined): JsonValue {
  if (node === undefined || typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return dropNulls(value as JsonObject, node);
  return mapList(value as readonly JsonValue[], (item) => dropNullsBelow(item, node.items));
}

function mapList(
  list: readonly JsonValue[],
  change: (value: JsonValue) => JsonValue,
): readonly JsonValue[] {
  let copy: JsonValue[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const value = list[at] as JsonValue; // at < length
    const next = change(value);
    if (next !== value) (copy ??= [...list])[at] = next;
  }
  return copy ?? list;
}

function fillValue(value: JsonValue, node: Structural): JsonValue {
  if (typeof value !== "object" || value === null || !node.hasDefaults) return value;
  if (!Array.isArray(value)) return fillObject(value as JsonObject, node);
  const { items } = node;
  if (items === undefined) return value;
  return mapList(value as readonly JsonValue[], (item) => fillOne(item, items));
}

/** Replaces a forbidden null by the default, if there is one. */
function fillOne(value: JsonValue, node: Structural): JsonValue {
  if (value === null && !node.isNullable) return defaultOf(node) ?? null;
  return fillValue(value, node);
}

function fillObject(object: JsonObject, node: Structural): JsonObject {
  let copy: MutableObject | undefined;
  for (const name of node.namesWithDefaults) {
    const property = node.property(name);
    if (property === undefined) continue;
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    const next = value === undefined ? defaultOf(property) : fillOne(value, property);
    if (next === undefined || next === value) continue;
    copy ??= { ...(object as MutableObject) }; // a copy of the fields, each of which is never changed
    setField(copy, name, next as MutableJson); // never changed
  }
  const { additional } = node;
  if (typeof additional !== "object" || !additional.hasDefaults) return copy ?? object;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined || node.property(name) !== undefined) continue;
    const next = fillOne(value, additional);
    if (next === value) continue;
    copy ??= { ...(object as MutableObject) }; // as above
    setField(copy, name, next as MutableJson); // as above
  }
  return copy ?? object;
}
