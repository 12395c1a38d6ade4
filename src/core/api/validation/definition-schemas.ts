/**
 * Schemas of custom resource definitions: structural, with valid defaults, matching list types, and complete
 * rules. The expression of a rule is checked where expressions are compiled.
 *
 * After  apiextensions-apiserver pkg/apis/apiextensions/validation (validateCustomResourceDefinitionValidation,
 *        ValidateCustomResourceDefinitionOpenAPISchema).
 * Differs  findings come in the order of the schema's fields; upstream's order is random.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import type { JsonObject } from "../object.ts";
import type { FieldError } from "../status.ts";
import { defaultErrors } from "../structural/defaults-check.ts";
import { findField } from "../structural/field-path.ts";
import { trustStructural } from "../structural/structural.ts";
import { entriesOf, structuralErrors, unsupportedField } from "../structural/structural-rules.ts";
import { goSchema } from "./definition-print.ts";
import { isSplit, keyErrors } from "./definition-lists.ts";
import { type DefinitionOptions, types } from "./definition-options.ts";
import {
  append,
  child,
  forbiddenField,
  index,
  invalidValue,
  key,
  notSupported,
  omitted,
  required,
} from "./errors.ts";
import type { Fields } from "./fields.ts";
import { count, flag, has, items, maybe, maybeText, part, text, texts } from "./fields.ts";

/** `path`: that of the object that contains `openAPIV3Schema`. */
export function checkSchema(
  out: FieldError[],
  schema: Fields,
  hasStatus: boolean,
  options: DefinitionOptions,
  path: string,
): void {
  const before = out.length;
  const at = child(path, "openAPIV3Schema");
  if (hasStatus) checkRootFields(out, schema, at);
  if (flag(schema, "nullable")) {
    out.push(forbiddenField(child(at, "nullable"), "nullable cannot be true at the root"));
  }
  const unsupported = unsupportedField(schema);
  if (unsupported === undefined) {
    const found = structuralErrors(schema, at);
    append(out, found);
    if (found.length === 0) {
      const root = trustStructural(schema as JsonObject); // fields of a decoded definition
      append(out, defaultErrors(root, at, options.requiresPrunedDefaults));
    }
  }
  checkNode(out, schema, at, { options, isRoot: true, isInMetadata: false, noDefaults: undefined });
  if (unsupported !== undefined && out.length === before)
    out.push(invalidValue(at, "", unsupported));
}

/** Fields of the root: with a status subresource the status has a schema of its own. */
const rootFields: readonly (readonly [string, string])[] = [
  ["Description", "description"],
  ["Type", "type"],
  ["Format", "format"],
  ["Title", "title"],
  ["Maximum", "maximum"],
  ["ExclusiveMaximum", "exclusiveMaximum"],
  ["Minimum", "minimum"],
  ["ExclusiveMinimum", "exclusiveMinimum"],
  ["MaxLength", "maxLength"],
  ["MinLength", "minLength"],
  ["Pattern", "pattern"],
  ["MaxItems", "maxItems"],
  ["MinItems", "minItems"],
  ["UniqueItems", "uniqueItems"],
  ["MultipleOf", "multipleOf"],
  ["Required", "required"],
  ["Items", "items"],
  ["Properties", "properties"],
  ["ExternalDocs", "externalDocs"],
  ["Example", "example"],
  ["XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"],
  ["XValidations", "x-kubernetes-validations"],
];
const allowedAtRoot: ReadonlySet<string> = new Set(rootFields.map(([, name]) => name));
const allowedNames = rootFields.map(([name]) => name).join(" ");

function checkRootFields(out: FieldError[], schema: Fields, path: string): void {
  const type = text(schema, "type");
  if (type !== "" && type !== "object") {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    out.push(invalidValue(child(path, "type"), type, detail));
    return;
  }
  const isOther = Object.keys(schema).some(
    (name) => !allowedAtRoot.has(name) && isSet(schema, name),
  );
  if (!isOther) return;
  const detail = `only [${allowedNames}] fields are allowed at the root of the schema if the status subresource is enabled`;
  out.push(invalidValue(path, goSchema(schema), detail));
}

function isSet(schema: Fields, name: string): boolean {
  const value = ownEntry(schema, name);
  return value !== undefined && value !== null && value !== false && value !== "";
}

interface Place {
  readonly options: DefinitionOptions;
  readonly isRoot: boolean;
  /** Within the schema of metadata, apiVersion or kind of a resource. */
  readonly isInMetadata: boolean;
  /** Why a default is not allowed here; undefined: it is. */
  readonly noDefaults: string | undefined;
}

const metaFields: ReadonlySet<string> = new Set(["metadata", "kind", "apiVersion"]);

function checkNode(out: FieldError[], schema: Fields, path: string, place: Place): void {
  checkStandard(out, schema, path, place);
  if (flag(schema, "uniqueItems")) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    out.push(forbiddenField(child(path, "uniqueItems"), detail));
  }
  checkBelow(out, schema, path, { ...place, isRoot: false }, place.isRoot);
  checkExtensions(out, schema, path, place.options);
  checkRules(out, schema, path);
}

function checkStandard(out: FieldError[], schema: Fields, path: string, place: Place): void {
  const type = text(schema, "type");
  if (type !== "" && place.options.requiresValidTypes && !types.includes(type)) {
    out.push(notSupported(child(path, "type"), type, types));
  }
  if (has(schema, "default") && place.noDefaults !== undefined) {
    out.push(forbiddenField(child(path, "default"), `must not be set ${place.noDefaults}`));
  }
  const isEmptyMap = (name: string): boolean => Object.keys(part(schema, name)).length === 0;
  const unsupported: readonly (readonly [string, boolean])[] = [
    ["id", text(schema, "id") !== ""],
    ["additionalItems", has(schema, "additionalItems")],
    ["patternProperties", !isEmptyMap("patternProperties")],
    ["definitions", !isEmptyMap("definitions")],
    ["dependencies", has(schema, "dependencies")],
    ["$ref", has(schema, "$ref")],
  ];
  for (const [name, isGiven] of unsupported) {
    if (isGiven) out.push(forbiddenField(child(path, name), `${name} is not supported`));
  }
  if (type === "null") {
    const detail = "type cannot be set to null, use nullable as an alternative";
    out.push(forbiddenField(child(path, "type"), detail));
  }
  if (count(schema, "items") > 0) {
    const detail = "items must be a schema object and not an array";
    out.push(forbiddenField(child(path, "items"), detail));
  }
  if (place.isInMetadata && flag(schema, "x-kubernetes-embedded-resource")) {
    const detail = "must not be used inside of resource meta";
    out.push(forbiddenField(child(path, "x-kubernetes-embedded-resource"), detail));
  }
}

function checkBelow(
  out: FieldError[],
  schema: Fields,
  path: string,
  place: Place,
  isRoot: boolean,
): void {
  checkAdditional(out, schema, path, place);
  const isResource = isRoot || flag(schema, "x-kubernetes-embedded-resource");
  for (const [name, property] of entriesOf(schema, "properties")) {
    const isMeta = isResource && metaFields.has(name);
    const noDefaults = isRoot && isMeta ? `in top-level ${name}` : place.noDefaults;
    const isInMetadata = place.isInMetadata || isMeta;
    const at = key(child(path, "properties"), name);
    checkNode(out, property, at, { ...place, isInMetadata, noDefaults });
  }
  const not = maybe(schema, "not");
  if (not !== undefined) checkNode(out, not, child(path, "not"), place);
  for (const name of ["allOf", "oneOf", "anyOf"]) {
    items(schema, name).forEach((below, at) => {
      checkNode(out, below, index(child(path, name), at), place);
    });
  }
  for (const name of ["definitions", "dependencies"]) {
    for (const [entry, below] of entriesOf(schema, name)) {
      checkNode(out, below, key(child(path, name), entry), place);
    }
  }
  const below = maybe(schema, "items");
  if (below !== undefined) checkNode(out, below, child(path, "items"), place);
  else if (Array.isArray(ownEntry(schema, "items"))) {
    items(schema, "items").forEach((item, at) => {
      checkNode(out, item, index(child(path, "items"), at), place);
    });
  }
}

function checkAdditional(out: FieldError[], schema: Fields, path: string, place: Place): void {
  const additional = ownEntry(schema, "additionalProperties");
  if (additional === undefined || additional === null) return;
  const at = child(path, "additionalProperties");
  if (Object.keys(part(schema, "properties")).length > 0 && additional !== true) {
    out.push(forbiddenField(at, "additionalProperties and properties are mutual exclusive"));
  }
  if (!isRecord(additional)) return;
  const noDefaults = place.isInMetadata
    ? "inside additionalProperties applying to object metadata"
    : place.noDefaults;
  checkNode(out, additional, at, { ...place, noDefaults });
}

function checkExtensions(
  out: FieldError[],
  schema: Fields,
  path: string,
  options: DefinitionOptions,
): void {
  const preserve = "x-kubernetes-preserve-unknown-fields";
  if (ownEntry(schema, preserve) === false) {
    out.push(invalidValue(child(path, preserve), false, "must be true or undefined"));
  }
  const mapType = maybeText(schema, "x-kubernetes-map-type");
  if (mapType !== undefined) {
    checkTypeFor(out, schema, path, "object", "x-kubernetes-map-type");
    if (mapType !== "atomic" && mapType !== "granular") {
      const at = child(path, "x-kubernetes-map-type");
      out.push(notSupported(at, mapType, ["atomic", "granular"]));
    }
  }
  checkListType(out, schema, path, options);
}

function checkTypeFor(
  out: FieldError[],
  schema: Fields,
  path: string,
  wanted: string,
  because: string,
): void {
  const type = text(schema, "type");
  if (type === wanted) return;
  const detail = `must be ${wanted} if ${because} is specified`;
  const at = child(path, "type");
  out.push(type === "" ? required(at, detail) : invalidValue(at, type, detail));
}

function checkListType(
  out: FieldError[],
  schema: Fields,
  path: string,
  options: DefinitionOptions,
): void {
  const listType = maybeText(schema, "x-kubernetes-list-type");
  const at = child(path, "x-kubernetes-list-type");
  if (listType !== undefined) {
    checkTypeFor(out, schema, path, "array", "x-kubernetes-list-type");
    const isList = text(schema, "type") === "array";
    if (isList && listType === "set" && options.requiresAtomicSets) checkSet(out, schema, path);
    if (!["atomic", "set", "map"].includes(listType)) {
      out.push(notSupported(at, listType, ["atomic", "set", "map"]));
    }
  }
  if (count(schema, "x-kubernetes-list-map-keys") > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    out.push(listType === undefined ? required(at, detail) : invalidValue(at, listType, detail));
  }
  if (listType === "map") checkMapList(out, schema, path);
  if (options.requiresGoodKeys) append(out, keyErrors(schema, path));
}

/** Items of a set are compared as wholes, so they must be atomic. */
function checkSet(out: FieldError[], schema: Fields, path: string): void {
  const below = maybe(schema, "items");
  if (below === undefined || !isSplit(below)) return;
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const name = text(below, "type") === "array" ? "x-kubernetes-list-type" : "x-kubernetes-map-type";
  // In both cases upstream shows the list type.
  const shown = ownEntry(below, "x-kubernetes-list-type") ?? null;
  out.push(invalidValue(child(path, "items", name), shown, detail));
}

function checkMapList(out: FieldError[], schema: Fields, path: string): void {
  const keys = texts(schema, "x-kubernetes-list-map-keys");
  const at = child(path, "x-kubernetes-list-map-keys");
  if (keys.length === 0) {
    out.push(required(at, "must not be empty if x-kubernetes-list-type is map"));
  }
  const below = maybe(schema, "items");
  const itemsAt = child(path, "items");
  if (below === undefined) {
    const list = ownEntry(schema, "items");
    const single = "must only have a single schema if x-kubernetes-list-type is map";
    const missing = "must have a schema if x-kubernetes-list-type is map";
    out.push(
      Array.isArray(list) ? invalidValue(itemsAt, omitted, single) : required(itemsAt, missing),
    );
    return;
  }
  if (text(below, "type") !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    out.push(invalidValue(child(itemsAt, "type"), text(below, "type"), detail));
    return;
  }
  const seen = new Set<string>();
  for (const name of keys) {
    const property = maybe(part(below, "properties"), name);
    if (property === undefined) {
      out.push(invalidValue(at, keys, "entries must all be names of item properties"));
    } else if (["array", "object"].includes(text(property, "type"))) {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      const typeAt = child(key(child(itemsAt, "properties"), name), "type");
      out.push(invalidValue(typeAt, text(below, "type"), detail));
    }
    if (seen.has(name)) out.push(invalidValue(at, keys, "must not contain duplicate entries"));
    seen.add(name);
  }
}

const reasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

/** Checks the form of rules; their expressions are compiled elsewhere. */
function checkRules(out: FieldError[], schema: Fields, path: string): void {
  items(schema, "x-kubernetes-validations").forEach((rule, i) => {
    const at = index(child(path, "x-kubernetes-validations"), i);
    checkMessage(out, rule, at);
    const expression = text(rule, "messageExpression");
    if (expression !== "" && expression.trim() === "") {
      const detail = "messageExpression must be non-empty if specified";
      out.push(required(child(at, "messageExpression"), detail));
    }
    const reason = maybeText(rule, "reason");
    if (reason !== undefined && !reasons.includes(reason)) {
      out.push(notSupported(child(at, "reason"), reason, reasons));
    }
    checkFieldPath(out, schema, text(rule, "fieldPath"), child(at, "fieldPath"));
  });
}

const lineBreak = /[\n\r]/;

function checkMessage(out: FieldError[], rule: Fields, path: string): void {
  const expression = text(rule, "rule").trim();
  const message = text(rule, "message");
  const at = child(path, "message");
  if (expression === "") out.push(required(child(path, "rule"), "rule is not specified"));
  else if (message !== "" && message.trim() === "") {
    out.push(invalidValue(at, message, "must be non-empty if specified"));
  } else if (lineBreak.test(message.trim())) {
    out.push(invalidValue(at, message, "must not contain line breaks"));
  } else if (lineBreak.test(expression) && message.trim() === "") {
    out.push(required(at, "message must be specified if rule contains line breaks"));
  }
}

function checkFieldPath(out: FieldError[], schema: Fields, value: string, path: string): void {
  if (value === "") return;
  if (value.trim() === "") out.push(invalidValue(path, value, "must be non-empty if specified"));
  if (lineBreak.test(value)) out.push(invalidValue(path, value, "must not contain line breaks"));
  if (findField(value, schema, true).error !== undefined) {
    out.push(invalidValue(path, value, "must be a valid path"));
  }
}
