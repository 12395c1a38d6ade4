/**
 * Checks that a schema is structural: every field has one type, stated outside of allOf, anyOf, oneOf and not,
 * which only restrict values. Findings in upstream's words and order (sorted by their text).
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/validation.go and complete.go.
 */
import { isRecord } from "#base/is-record.ts";
import { patternSteps } from "#base/pattern-steps.ts";
import { ownEntry } from "#base/own.ts";
import type { FieldError } from "../status.ts";
import type { Fields } from "../validation/fields.ts";
import { byText, count, flag, has, items, maybe, part, text } from "../validation/fields.ts";
import { child, forbiddenField, index, invalidValue, key, required } from "../validation/errors.ts";
import { compilePattern } from "./patterns.ts";

type Level = "root" | "item" | "field";

interface Check {
  readonly out: FieldError[];
  /** Distinct patterns so far, and their total length: compiling takes some microseconds per character. */
  readonly patterns: Set<string>;
  patternSteps: number;
}

/** Compiled in some 40 ms. The largest definitions have patterns of 20,000 characters in all. */
const patternStepsMax = 48 * 1024;

/** Errors sorted by text, as upstream does because Go maps have no order. */
export function structuralErrors(schema: Fields, path: string): FieldError[] {
  const check: Check = { out: [], patterns: new Set(), patternSteps: 0 };
  checkNode(check, schema, "root", path);
  checkCompleteness(check, schema, schema, path, path);
  return check.out.sort((a, b) => byText(sortKey(a), sortKey(b)));
}

function sortKey(error: FieldError): string {
  return `${error.field}: ${error.message}`;
}

const unsupportedTexts: readonly (readonly [string, (schema: Fields) => boolean])[] = [
  ["id", (schema) => text(schema, "id") !== ""],
  ["schema", (schema) => text(schema, "$schema") !== ""],
  ["$ref", (schema) => text(schema, "$ref") !== ""],
  ["patternProperties", (schema) => hasKeys(schema, "patternProperties")],
  ["dependencies", (schema) => hasKeys(schema, "dependencies")],
  ["additionalItems", (schema) => has(schema, "additionalItems")],
  ["definitions", (schema) => hasKeys(schema, "definitions")],
];

function hasKeys(schema: Fields, name: string): boolean {
  const value = maybe(schema, name);
  return value !== undefined && Object.keys(value).length > 0;
}

/** Upstream's first reason why the schema cannot be compiled; undefined: it can. */
export function unsupportedField(schema: Fields): string | undefined {
  const own = unsupportedTexts.find(([, isSet]) => isSet(schema));
  if (own !== undefined) return `OpenAPIV3Schema '${own[0]}' is not supported`;
  if (ownEntry(schema, "x-kubernetes-preserve-unknown-fields") === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  if (count(schema, "items") > 0) {
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  }
  for (const below of childSchemas(schema)) {
    const found = unsupportedField(below);
    if (found !== undefined) return found;
  }
  return undefined;
}

const junctors = ["allOf", "anyOf", "oneOf"] as const;

/** All direct child schemas, value validations included. */
function* childSchemas(schema: Fields): Generator<Fields> {
  for (const name of ["items", "not", "additionalProperties", "additionalItems"]) {
    const below = maybe(schema, name);
    if (below !== undefined) yield below;
  }
  for (const name of junctors) yield* items(schema, name);
  if (Array.isArray(ownEntry(schema, "items"))) yield* items(schema, "items");
  for (const name of ["properties", "patternProperties", "definitions", "dependencies"]) {
    for (const below of Object.values(part(schema, name))) if (isRecord(below)) yield below;
  }
}

/** Whether `test` holds for this schema or one below it. */
export function someSchema(schema: Fields, test: (schema: Fields) => boolean): boolean {
  if (test(schema)) return true;
  for (const below of childSchemas(schema)) if (someSchema(below, test)) return true;
  return false;
}

export function entriesOf(schema: Fields, name: string): readonly (readonly [string, Fields])[] {
  return Object.entries(part(schema, name)).filter((entry): entry is [string, Fields] =>
    isRecord(entry[1]),
  );
}

function checkNode(check: Check, schema: Fields, level: Level, path: string): void {
  const { out } = check;
  const type = text(schema, "type");
  const below = maybe(schema, "items");
  if (type === "array" && below === undefined) {
    out.push(required(child(path, "items"), "must be specified"));
  }
  if (below !== undefined) checkNode(check, below, "item", child(path, "items"));
  for (const [name, property] of entriesOf(schema, "properties")) {
    checkNode(check, property, "field", key(child(path, "properties"), name));
  }
  if (has(schema, "additionalProperties")) {
    const at = child(path, "additionalProperties");
    if (level === "root") out.push(forbiddenField(at, "must not be used at the root"));
    const additional = maybe(schema, "additionalProperties");
    if (additional !== undefined) checkNode(check, additional, "field", at);
  }
  checkExtensions(out, schema, path);
  checkValues(check, schema, path, {
    skipAnyOf: isIntOrStringPair(schema),
    skipFirstAllOf: isIntOrStringAllOf(schema),
  });
  checkType(out, schema, level, path);
  checkMeta(out, schema, level, path);
}

function checkExtensions(out: FieldError[], schema: Fields, path: string): void {
  if (!flag(schema, "x-kubernetes-int-or-string")) return;
  const detail = "must be false if x-kubernetes-int-or-string is true";
  for (const name of ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"]) {
    if (flag(schema, name)) out.push(invalidValue(child(path, name), true, detail));
  }
}

const missingType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function checkType(out: FieldError[], schema: Fields, level: Level, path: string): void {
  const type = text(schema, "type");
  const at = child(path, "type");
  const isEmbedded = flag(schema, "x-kubernetes-embedded-resource");
  if (isEmbedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    out.push(type === "" ? required(at, detail) : invalidValue(at, type, detail));
  } else if (
    type === "" &&
    !flag(schema, "x-kubernetes-int-or-string") &&
    !flag(schema, "x-kubernetes-preserve-unknown-fields")
  ) {
    out.push(required(at, missingType[level]));
  }
  if (isEmbedded && has(schema, "additionalProperties")) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    out.push(forbiddenField(child(path, "additionalProperties"), detail));
  }
  if (level === "root" && type !== "" && type !== "object") {
    out.push(invalidValue(at, type, "must be object at the root"));
  }
}

function checkMeta(out: FieldError[], schema: Fields, level: Level, path: string): void {
  const isEmbedded = flag(schema, "x-kubernetes-embedded-resource");
  const isResource = level === "root" || isEmbedded;
  const properties = part(schema, "properties");
  for (const name of ["kind", "apiVersion"]) {
    const property = maybe(properties, name);
    if (property === undefined || !isResource || text(property, "type") === "string") continue;
    const at = child(key(child(path, "properties"), name), "type");
    out.push(invalidValue(at, text(property, "type"), "must be string"));
  }
  const metadata = maybe(properties, "metadata");
  if (metadata !== undefined) {
    const at = key(child(path, "properties"), "metadata");
    const type = text(metadata, "type");
    if (isResource && type !== "object") {
      out.push(invalidValue(child(at, "type"), type, "must be object"));
    }
    if (level === "root" && !restrictsNamesOnly(metadata)) {
      const detail =
        "must not specify anything other than name and generateName, but metadata is implicitly specified";
      out.push(forbiddenField(at, detail));
    }
  }
  if (
    isEmbedded &&
    !flag(schema, "x-kubernetes-preserve-unknown-fields") &&
    Object.keys(properties).length === 0
  ) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    out.push(required(child(path, "properties"), detail));
  }
}

/** Whether it has nothing but a type, a default and the properties name and generateName. */
function restrictsNamesOnly(metadata: Fields): boolean {
  return Object.keys(metadata).every((field) => {
    if (field === "type" || field === "default") return true;
    if (field !== "properties") return isZero(metadata[field]);
    const names = Object.keys(part(metadata, "properties"));
    return names.every((name) => name === "name" || name === "generateName");
  });
}

function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  return Array.isArray(value) && value.length === 0;
}

/** The only allowed use of `type` below anyOf: `anyOf: [{type: integer}, {type: string}]`. */
function isIntOrStringPair(schema: Fields): boolean {
  const pair = items(schema, "anyOf");
  return (
    pair.length === 2 && isOnlyType(pair[0] ?? {}, "integer") && isOnlyType(pair[1] ?? {}, "string")
  );
}

function isIntOrStringAllOf(schema: Fields): boolean {
  const first = items(schema, "allOf")[0];
  return first !== undefined && isIntOrStringPair(first);
}

function isOnlyType(schema: Fields, type: string): boolean {
  return Object.keys(schema).every((field) =>
    field === "type" ? schema[field] === type : isZero(schema[field]),
  );
}

interface Skips {
  readonly skipAnyOf: boolean;
  readonly skipFirstAllOf: boolean;
}

const noSkips: Skips = { skipAnyOf: false, skipFirstAllOf: false };

function checkValues(check: Check, schema: Fields, path: string, skips: Skips): void {
  if (!skips.skipAnyOf) {
    items(schema, "anyOf").forEach((below, at) => {
      checkNested(check, below, index(child(path, "anyOf"), at), noSkips);
    });
  }
  items(schema, "allOf").forEach((below, at) => {
    const skipAnyOf = skips.skipFirstAllOf && at === 0;
    checkNested(check, below, index(child(path, "allOf"), at), { ...noSkips, skipAnyOf });
  });
  items(schema, "oneOf").forEach((below, at) => {
    checkNested(check, below, index(child(path, "oneOf"), at), noSkips);
  });
  const not = maybe(schema, "not");
  if (not !== undefined) checkNested(check, not, child(path, "not"), noSkips);
  checkPattern(check, text(schema, "pattern"), child(path, "pattern"));
}

function checkPattern(check: Check, pattern: string, path: string): void {
  if (pattern === "") return;
  if (!check.patterns.has(pattern)) {
    check.patterns.add(pattern);
    check.patternSteps += patternSteps(pattern);
  }
  const isTooMuch = check.patternSteps > patternStepsMax;
  const error = isTooMuch
    ? `the patterns of one schema have more than ${patternStepsMax} steps`
    : compilePattern(pattern).error;
  if (error === undefined) return;
  // Thousands of long patterns may be invalid, so only the first findings show theirs.
  const shown = check.out.length < 1_000 ? pattern : "";
  const detail = `must be a valid regular expression, but isn't: ${error}`;
  check.out.push(invalidValue(path, shown, detail));
}

/** [field, whether it is set, the required form]: fields allowed only in the structure of a schema. */
const forbiddenBelow: readonly (readonly [
  string,
  (schema: Fields, name: string) => boolean,
  string,
])[] = [
  ["type", (schema, name) => text(schema, name) !== "", "empty"],
  ["additionalProperties", (schema, name) => isGiven(schema, name), "undefined"],
  ["default", (schema, name) => has(schema, name), "undefined"],
  ["title", (schema, name) => text(schema, name) !== "", "empty"],
  ["description", (schema, name) => text(schema, name) !== "", "empty"],
  ["nullable", flag, "false"],
  ["x-kubernetes-preserve-unknown-fields", flag, "false"],
  ["x-kubernetes-embedded-resource", flag, "false"],
  ["x-kubernetes-int-or-string", flag, "false"],
  ["x-kubernetes-list-map-keys", (schema, name) => count(schema, name) > 0, "empty"],
  ["x-kubernetes-list-type", has, "undefined"],
  ["x-kubernetes-map-type", has, "undefined"],
  ["x-kubernetes-validations", (schema, name) => count(schema, name) > 0, "empty"],
];

/** `additionalProperties: false` is ignored, because pruning drops such fields anyway. */
function isGiven(schema: Fields, name: string): boolean {
  return has(schema, name) && ownEntry(schema, name) !== false;
}

function checkNested(check: Check, schema: Fields, path: string, skips: Skips): void {
  checkValues(check, schema, path, skips);
  const below = maybe(schema, "items");
  if (below !== undefined) checkNested(check, below, child(path, "items"), noSkips);
  for (const [name, property] of entriesOf(schema, "properties")) {
    checkNested(check, property, key(child(path, "properties"), name), noSkips);
  }
  for (const [name, isSet, wanted] of forbiddenBelow) {
    if (!isSet(schema, name)) continue;
    check.out.push(forbiddenField(child(path, name), `must be ${wanted} to be structural`));
  }
  if (has(part(schema, "properties"), "metadata")) {
    const at = key(child(path, "properties"), "metadata");
    check.out.push(forbiddenField(at, "must not be specified in a nested context"));
  }
}

/** Refuses a schema whose `allOf`, `anyOf`, `oneOf` or `not` names a field that its properties do not declare. */
function checkCompleteness(
  check: Check,
  schema: Fields,
  structure: Fields,
  path: string,
  from: string,
): void {
  const not = maybe(schema, "not");
  if (not !== undefined) checkComplete(check, not, structure, path, child(from, "not"));
  for (const name of junctors) {
    items(schema, name).forEach((below, at) => {
      checkComplete(check, below, structure, path, index(child(from, name), at));
    });
  }
}

function checkComplete(
  check: Check,
  schema: Fields,
  structure: Fields,
  path: string,
  from: string,
): void {
  checkCompleteness(check, schema, structure, path, from);
  const below = maybe(schema, "items");
  if (below !== undefined) {
    const at = child(path, "items");
    const typed = maybe(structure, "items");
    if (typed === undefined) check.out.push(undefinedField(at, child(from, "items")));
    else checkComplete(check, below, typed, at, child(from, "items"));
  }
  const typed = part(structure, "properties");
  for (const [name, property] of entriesOf(schema, "properties")) {
    const at = key(child(path, "properties"), name);
    const there = key(child(from, "properties"), name);
    const known = maybe(typed, name);
    if (known === undefined) check.out.push(undefinedField(at, there));
    else checkComplete(check, property, known, at, there);
  }
}

function undefinedField(path: string, from: string): FieldError {
  return required(path, `because it is defined in ${from}`);
}
