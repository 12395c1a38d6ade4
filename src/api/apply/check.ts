/**
 * Whether what a client applies fits its schema: fields that are declared, values of the right
 * form, list elements with all their keys and no duplicates. Texts as structured-merge-diff's.
 */
import { isJsonObject } from "../json-value.ts";
import type { MutableJson, MutableObject } from "../json-value.ts";
import { fieldElement, printPath } from "./fields-v1.ts";
import { deduced } from "./shape.ts";
import type { ListShape, SetShape, Shape } from "./shape.ts";
import { itemElement, itemShape } from "./walk.ts";

/** Findings, each with its path; empty when the value fits. */
export function checkValue(
  value: MutableJson | undefined,
  shape: Shape,
  path: readonly string[] = [],
): string[] {
  if (value === undefined || value === null) return [];
  switch (shape.kind) {
    case "leaf":
    case "deduced":
      return [];
    case "struct":
    case "map":
      if (!isJsonObject(value)) return [`${printPath(path)}: expected map, got ${shown(value)}`];
      return checkFields(value, shape, path);
    case "set":
    case "list":
      if (!Array.isArray(value)) return [`${printPath(path)}: expected list, got ${shown(value)}`];
      return checkItems(value, shape, path);
    default:
      return shape satisfies never;
  }
}

function shown(value: MutableJson): string {
  return `&{${typeof value === "object" ? JSON.stringify(value) : String(value)}}`;
}

function checkFields(
  object: MutableObject,
  shape: Extract<Shape, { kind: "struct" | "map" }>,
  path: readonly string[],
): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const at = [...path, fieldElement(name)];
    const declared = shape.kind === "map" ? shape.items : shape.field(name);
    const field = shape.kind === "struct" && shape.open ? (declared ?? deduced) : declared;
    if (field === undefined) return [`${printPath(at)}: field not declared in schema`];
    return checkValue(value, field, at);
  });
}

function checkItems(
  list: readonly MutableJson[],
  shape: ListShape | SetShape,
  path: readonly string[],
): string[] {
  const seen = new Set<string>();
  return list.flatMap((item, index) => {
    const finding = shape.kind === "list" ? checkKeys(item, shape) : undefined;
    if (finding !== undefined) return [`${printPath(path)}: element ${index}: ${finding}`];
    const element = itemElement(shape, item);
    if (seen.has(element)) {
      return [`${printPath(path)}: duplicate entries for key ${printPath([element])}`];
    }
    seen.add(element);
    return checkValue(item, itemShape(shape), [...path, element]);
  });
}

function checkKeys(item: MutableJson, shape: ListShape): string | undefined {
  if (item === null) return "associative list with keys may not have a null element";
  if (!isJsonObject(item)) return "associative list with keys may not have non-map elements";
  const missing = shape.keys.find(
    (key) => !Object.hasOwn(item, key) && !Object.hasOwn(shape.keyDefaults, key),
  );
  if (missing === undefined) return undefined;
  return `associative list with keys has an element that omits key field "${missing}" (and doesn't have default value)`;
}
