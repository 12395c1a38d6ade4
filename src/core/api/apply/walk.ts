/**
 * The common parts of all walks over a value and its shape: the form that a value has under a shape, and
 * its members by path element.
 */
import { isJsonObject } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import { keyElement, valueElement } from "./fields-v1.ts";
import { deduced, leaf } from "./shape.ts";
import type { ListShape, SetShape, Shape } from "./shape.ts";

/** The way to walk a given value, chosen from its shape. */
export type Form =
  | { readonly kind: "leaf" }
  | { readonly kind: "object"; readonly shape: Extract<Shape, { kind: "struct" | "map" }> }
  | { readonly kind: "list"; readonly shape: ListShape | SetShape };

const leafForm: Form = { kind: "leaf" };
const deducedMap: Extract<Shape, { kind: "map" }> = { kind: "map", items: deduced };

/**
 * Returns the form of the walked values: `values` are the one or two sides of the walk, which may be absent or null. A
 * value that does not fit its shape (stored before the schema changed) is one leaf.
 */
export function formOf(shape: Shape, ...values: readonly (MutableJson | undefined)[]): Form {
  const present = values.filter((value) => value !== undefined && value !== null);
  switch (shape.kind) {
    case "leaf":
      return leafForm;
    case "deduced":
      return present.length > 0 && present.every(isJsonObject)
        ? { kind: "object", shape: deducedMap }
        : leafForm;
    case "struct":
    case "map":
      return present.every(isJsonObject) ? { kind: "object", shape } : leafForm;
    case "set":
    case "list":
      return present.every((value) => Array.isArray(value)) ? { kind: "list", shape } : leafForm;
    default:
      return shape satisfies never;
  }
}

/** The shape of a field; that of an unknown field is deduced, so callers that refuse unknown fields check first. */
export function fieldShape(shape: Extract<Shape, { kind: "struct" | "map" }>, name: string): Shape {
  return shape.kind === "map" ? shape.items : (shape.field(name) ?? deduced);
}

export function objectOf(value: MutableJson | undefined): MutableObject {
  return isJsonObject(value) ? value : {};
}

export function listOf(value: MutableJson | undefined): readonly MutableJson[] {
  return Array.isArray(value) ? value : [];
}

export function itemShape(shape: ListShape | SetShape): Shape {
  return shape.kind === "set" ? leaf : shape.items;
}

/**
 * Returns the path element of a list element. A key that is absent and has no default is left out of it,
 * so that stored elements stay addressable; `check.ts` checks applied ones.
 */
export function itemElement(shape: ListShape | SetShape, item: MutableJson): string {
  if (shape.kind === "set") return valueElement(item);
  const object = objectOf(item);
  const keys: [string, unknown][] = [];
  for (const key of shape.keys) {
    const value = Object.hasOwn(object, key) ? object[key] : shape.keyDefaults[key];
    if (value !== undefined) keys.push([key, value]);
  }
  return keyElement(keys);
}

/** A list's elements grouped by path element, in order of first appearance. */
export function itemsByElement(
  shape: ListShape | SetShape,
  list: readonly MutableJson[],
): Map<string, MutableJson[]> {
  const items = new Map<string, MutableJson[]>();
  for (const item of list) {
    const element = itemElement(shape, item);
    const same = items.get(element);
    if (same === undefined) items.set(element, [item]);
    else same.push(item);
  }
  return items;
}

/** All keys of both objects, those of the first object first. */
export function keysOf(a: MutableObject, b: MutableObject): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}
