/**
 * Checks whether an applied configuration fits its schema: fields that are declared, values of the right
 * form, list elements with all their keys and no duplicates. Texts as structured-merge-diff's.
 */
import { isJsonObject, setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import { goSyntax, goTypeOf, goValue } from "../go/go-value.ts";
import { fieldElement, indexElement, printPath } from "./fields-v1.ts";
import { deduced } from "./shape.ts";
import type { ListShape, Parts, Scalar, SetShape, Shape } from "./shape.ts";
import { itemElement } from "./walk.ts";

/** Maximum number of findings; upstream reports all, but longer lists help nobody. */
const findingsMax = 1000;
/** Maximum length of a finding, which shows the value; the last finding may be longer. */
const findingLengthMax = 4096;
const findingsLengthMax = 64 * 1024;

/** Findings, each with its path; empty when the value fits. At most `findingsMax`, of `findingsLengthMax` together. */
export function checkValue(value: MutableJson | undefined, shape: Shape): string[] {
  const findings: string[] = [];
  checkMember(value, shape, { path: [], findings, length: 0 });
  return findings;
}

interface Check {
  /** Path of the current value. */
  readonly path: string[];
  readonly findings: string[];
  length: number;
}

function find(check: Check, what: string): void {
  const finding = `${printPath(check.path)}: ${what}`.slice(0, findingLengthMax).toWellFormed();
  check.findings.push(finding);
  check.length += finding.length;
}

function isFull({ findings, length }: Check): boolean {
  return findings.length >= findingsMax || length > findingsLengthMax;
}

function checkMember(value: MutableJson | undefined, shape: Shape, check: Check): void {
  if (value === undefined || value === null || isFull(check)) return;
  switch (shape.kind) {
    case "leaf":
      if (shape.scalar !== undefined) checkScalar(value, shape.scalar, check);
      if (shape.parts !== undefined) checkParts(value, shape.parts, check);
      return;
    case "deduced":
      return;
    case "struct":
    case "map":
      checkFields(value, shape, check);
      return;
    case "set":
    case "list":
      checkItems(value, shape, check);
      return;
    default:
      shape satisfies never;
  }
}

function checkScalar(value: MutableJson, scalar: Scalar, check: Check): void {
  if (isScalar(value, scalar)) return;
  if (scalar === "numeric") {
    find(check, `expected numeric (int or float), got ${goTypeOf(value)}`);
  } else if (scalar === "string") {
    find(
      check,
      `expected string, got &value.valueUnstructured{Value:${goSyntax(beginning(value))}}`,
    );
  } else {
    find(check, `expected ${scalar === "boolean" ? scalar : "any scalar"}, got ${shown(value)}`);
  }
}

function isScalar(value: MutableJson, scalar: Scalar): boolean {
  if (scalar === "untyped") return typeof value !== "object";
  if (scalar === "numeric") return typeof value === "number" || typeof value === "bigint";
  return typeof value === scalar;
}

/** Checks the parts of an atomic value. */
function checkParts(value: MutableJson, parts: Parts, check: Check): void {
  if (parts.kind !== "items") return checkFields(value, parts, check);
  if (!Array.isArray(value)) return find(check, `expected list, got ${shown(value)}`);
  for (const [index, item] of value.entries()) {
    if (isFull(check)) return;
    check.path.push(indexElement(index));
    checkMember(item, parts.items, check);
    check.path.pop();
  }
}

function shown(value: MutableJson): string {
  return `&{${goValue(beginning(value))}}`;
}

/** Copies only as much of a value as a finding shows, so that long values cost no more. */
function beginning(value: MutableJson, left = { parts: findingLengthMax }): MutableJson {
  left.parts--;
  if (typeof value === "string") return value.slice(0, findingLengthMax);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items: MutableJson[] = [];
    for (let at = 0; at < value.length && left.parts > 0; at++) {
      items.push(beginning(value[at] as MutableJson, left)); // at < length
    }
    return items;
  }
  const members: MutableObject = {};
  for (const name of Object.keys(value).slice(0, left.parts)) {
    if (left.parts > 0) setField(members, name, beginning(value[name] as MutableJson, left)); // its own
  }
  return members;
}

/** Reports one undeclared field of an object, after its other findings, as upstream. */
function checkFields(
  object: MutableJson,
  shape: Extract<Shape, { kind: "struct" | "map" }>,
  check: Check,
): void {
  if (!isJsonObject(object)) return find(check, `expected map, got ${shown(object)}`);
  let unknown: string | undefined;
  for (const name of Object.keys(object)) {
    if (isFull(check)) return;
    const declared = shape.kind === "map" ? shape.items : shape.field(name);
    const field = shape.kind === "struct" && shape.isOpen ? (declared ?? deduced) : declared;
    if (field === undefined) {
      unknown ??= name;
      continue;
    }
    check.path.push(fieldElement(name));
    checkMember(object[name], field, check);
    check.path.pop();
  }
  if (unknown === undefined) return;
  check.path.push(fieldElement(unknown));
  find(check, "field not declared in schema");
  check.path.pop();
}

/** Stops at an element that cannot be distinguished from others. */
function checkItems(list: MutableJson, shape: ListShape | SetShape, check: Check): void {
  if (!Array.isArray(list)) return find(check, `expected list, got ${shown(list)}`);
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    if (isFull(check)) return;
    const finding = shape.kind === "list" ? checkKeys(item, shape) : checkElement(item);
    if (finding !== undefined) return find(check, `element ${index}: ${finding}`);
    const element = itemElement(shape, item);
    if (seen.has(element)) find(check, `duplicate entries for key ${printPath([element])}`);
    seen.add(element);
    check.path.push(element);
    checkMember(item, shape.items, check);
    check.path.pop();
  }
}

function checkKeys(item: MutableJson, shape: ListShape): string | undefined {
  if (item === null) return "associative list with keys may not have a null element";
  if (!isJsonObject(item)) return "associative list with keys may not have non-map elements";
  const hasKey = shape.keys.some(
    (key) => Object.hasOwn(item, key) || Object.hasOwn(shape.keyDefaults, key),
  );
  if (hasKey) return undefined;
  const keys = shape.keys.map((key) => JSON.stringify(key)).join(" ");
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

/** Checks one element of a set. */
function checkElement(item: MutableJson): string | undefined {
  if (item === null) return "associative list without keys has an element that's an explicit null";
  if (Array.isArray(item)) return "not supported: associative list with lists as elements";
  return isJsonObject(item)
    ? "associative list without keys has an element that's a map type"
    : undefined;
}
