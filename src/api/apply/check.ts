/**
 * Whether what a client applies fits its schema: fields that are declared, values of the right
 * form, list elements with all their keys and no duplicates. Texts as structured-merge-diff's.
 */
import { isJsonObject } from "../json-value.ts";
import type { MutableJson, MutableObject } from "../json-value.ts";
import { fieldElement, indexElement, printPath } from "./fields-v1.ts";
import { deduced } from "./shape.ts";
import type { ListShape, Parts, SetShape, Shape } from "./shape.ts";
import { itemElement, itemShape } from "./walk.ts";

/** A list of more findings helps nobody; upstream tells all. */
const findingsMax = 1000;

/** Findings, each with its path; empty when the value fits. At most `findingsMax`. */
export function checkValue(value: MutableJson | undefined, shape: Shape): string[] {
  const findings: string[] = [];
  checkMember(value, shape, { path: [], findings });
  return findings;
}

interface Check {
  /** Of the value that is looked at. */
  readonly path: string[];
  readonly findings: string[];
}

function find({ path, findings }: Check, what: string): void {
  findings.push(`${printPath(path)}: ${what}`);
}

function checkMember(value: MutableJson | undefined, shape: Shape, check: Check): void {
  if (value === undefined || value === null || check.findings.length >= findingsMax) return;
  switch (shape.kind) {
    case "leaf":
      if (shape.parts !== undefined) checkParts(value, shape.parts, check);
      return;
    case "deduced":
      return;
    case "struct":
    case "map":
      if (!isJsonObject(value)) find(check, `expected map, got ${shown(value)}`);
      else checkFields(value, shape, check);
      return;
    case "set":
    case "list":
      if (!Array.isArray(value)) find(check, `expected list, got ${shown(value)}`);
      else checkItems(value, shape, check);
      return;
    default:
      shape satisfies never;
  }
}

/** Of an atomic value. Its own form is for validation to judge, in its words. */
function checkParts(value: MutableJson, parts: Parts, check: Check): void {
  if (parts.kind !== "items") {
    if (isJsonObject(value)) checkFields(value, parts, check);
    return;
  }
  if (!Array.isArray(value)) return;
  for (const [index, item] of value.entries()) {
    check.path.push(indexElement(index));
    checkMember(item, parts.items, check);
    check.path.pop();
  }
}

function shown(value: MutableJson): string {
  return `&{${typeof value === "object" ? JSON.stringify(value) : String(value)}}`;
}

function checkFields(
  object: MutableObject,
  shape: Extract<Shape, { kind: "struct" | "map" }>,
  check: Check,
): void {
  for (const name of Object.keys(object)) {
    if (check.findings.length >= findingsMax) return;
    const declared = shape.kind === "map" ? shape.items : shape.field(name);
    const field = shape.kind === "struct" && shape.isOpen ? (declared ?? deduced) : declared;
    check.path.push(fieldElement(name));
    if (field === undefined) find(check, "field not declared in schema");
    else checkMember(object[name], field, check);
    check.path.pop();
  }
}

function checkItems(list: readonly MutableJson[], shape: ListShape | SetShape, check: Check): void {
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    if (check.findings.length >= findingsMax) return;
    const finding = shape.kind === "list" ? checkKeys(item, shape) : undefined;
    if (finding !== undefined) {
      find(check, `element ${index}: ${finding}`);
      continue;
    }
    const element = itemElement(shape, item);
    if (seen.has(element)) {
      find(check, `duplicate entries for key ${printPath([element])}`);
      continue;
    }
    seen.add(element);
    check.path.push(element);
    checkMember(item, itemShape(shape), check);
    check.path.pop();
  }
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
