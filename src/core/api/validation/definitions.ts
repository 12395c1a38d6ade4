/**
 * Custom resource definitions: names, versions, scope, schemas, subresources, columns, selectable fields,
 * conversion. Texts and order as upstream's apiextensions/validation; schemas in definition-schemas.ts.
 *
 * Upstream validates its internal form, in which parts that all versions share appear once, beside the versions.
 * Findings about the schema of a lone version therefore name `spec.validation`; see `hoist`.
 */
import { conversionBundleFault } from "./ca-bundle.ts";
import { dictionary, ownEntry } from "#base/own.ts";
import { jsonEqual } from "../json/json-value.ts";
import type { FieldError } from "../status.ts";
import { formatCheck, isKnownFormat } from "../structural/formats.ts";
import { someSchema } from "../structural/structural-rules.ts";
import { findField } from "../structural/field-path.ts";
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1035LabelErrors } from "../names.ts";
import { checkSchema } from "./definition-schemas.ts";
import { goVersions } from "./definition-print.ts";
import {
  type DefinitionOptions,
  optionsForUpdate,
  reviewVersions,
  selectableMax,
  strict,
} from "./definition-options.ts";
import type { Fields } from "./fields.ts";
import {
  flag,
  has,
  items,
  maybe,
  maybeText,
  part,
  text,
  textMap,
  texts,
  without,
} from "./fields.ts";
import {
  append,
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  required,
  tooMany,
} from "./errors.ts";
import { checkOneOf } from "./choices.ts";
import { checkImmutable } from "./immutable.ts";
import { checkClient } from "./webhooks.ts";

const scopes = ["Cluster", "Namespaced"];
const approval = "api-approved.kubernetes.io";
const protectedSuffixes = [".k8s.io", ".kubernetes.io"];

export function validateDefinition(definition: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(definition, "spec");
  const names = part(spec, "names");
  const name = text(part(definition, "metadata"), "name");
  if (name !== `${text(names, "plural")}.${text(spec, "group")}`) {
    const detail = 'must be spec.names.plural+"."+spec.group';
    out.push(invalidValue("metadata.name", name, detail));
  }
  checkSpec(out, spec, strict);
  checkStatus(out, definition);
  checkApproval(out, definition, undefined);
  checkPreserve(out, spec, undefined);
  return out;
}

export function validateDefinitionUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(next, "spec");
  const before = part(old, "spec");
  checkSpec(out, spec, optionsForUpdate(spec, before, isEstablished(old)));
  const names = { next: part(spec, "names"), old: part(before, "names") };
  if (isEstablished(old)) {
    checkImmutable(out, spec, before, { field: "scope", path: "spec" });
    checkImmutable(out, names.next, names.old, { field: "kind", path: "spec.names" });
  }
  checkImmutable(out, spec, before, { field: "group", path: "spec" });
  checkImmutable(out, names.next, names.old, { field: "plural", path: "spec.names" });
  checkStatus(out, next);
  checkApproval(out, next, old);
  checkPreserve(out, spec, before);
  return out;
}

/** Validates a write to the status subresource. */
export function validateDefinitionStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkNames(out, part(part(next, "status"), "acceptedNames"), "status.acceptedNames");
  return out;
}

function isEstablished(definition: Fields): boolean {
  return items(part(definition, "status"), "conditions").some(
    (condition) =>
      text(condition, "type") === "Established" && text(condition, "status") === "True",
  );
}

function checkStatus(out: FieldError[], definition: Fields): void {
  append(out, validateDefinitionStatus(definition));
  const stored = texts(part(definition, "status"), "storedVersions");
  checkStored(out, items(part(definition, "spec"), "versions"), stored);
}

/** A spec split into the parts common to all versions, and the versions without them. */
interface Hoisted {
  readonly versions: readonly Fields[];
  readonly shared: Fields;
}

const shareable = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];

function hoist(spec: Fields): Hoisted {
  const versions = items(spec, "versions");
  const first = versions[0];
  if (first === undefined) return { versions, shared: {} };
  const shared = dictionary<unknown>();
  const names = shareable.filter((name) =>
    versions.every((version) => jsonEqual(ownEntry(version, name), ownEntry(first, name))),
  );
  for (const name of names) shared[name] = ownEntry(first, name);
  return { versions: versions.map((version) => without(version, names)), shared };
}

function checkSpec(out: FieldError[], spec: Fields, options: DefinitionOptions): void {
  const path = "spec";
  checkGroup(out, text(spec, "group"));
  checkOneOf(out, text(spec, "scope"), scopes, "spec.scope");
  const { versions, shared } = hoist(spec);
  const schema = maybe(part(shared, "schema"), "openAPIV3Schema");
  if (schema === undefined) checkSchemasGiven(out, versions, options);
  checkVersions(out, { versions, shared }, options);
  const names = part(spec, "names");
  for (const field of ["plural", "singular", "kind", "listKind"]) {
    if (text(names, field) === "") out.push(required(child(path, "names", field)));
  }
  checkNames(out, names, child(path, "names"));
  const hasStatus = hasSharedStatus(versions, shared);
  if (schema !== undefined) checkSchema(out, schema, hasStatus, options, "spec.validation");
  checkSubresources(out, part(shared, "subresources"), "spec.subresources");
  checkColumns(out, shared, "spec.additionalPrinterColumns");
  if (items(shared, "selectableFields").length > 0) {
    checkSharedSelectable(out, shared, schema, options);
  }
  checkConversion(out, spec, options);
}

function hasSharedStatus(versions: readonly Fields[], shared: Fields): boolean {
  return [shared, ...versions].some((one) => has(part(one, "subresources"), "status"));
}

function checkSchemasGiven(
  out: FieldError[],
  versions: readonly Fields[],
  options: DefinitionOptions,
): void {
  versions.forEach((version, at) => {
    if (has(part(version, "schema"), "openAPIV3Schema")) return;
    const path = child(index("spec.versions", at), "schema", "openAPIV3Schema");
    if (options.requiresSchema) out.push(required(path));
    else if (flag(version, "served")) {
      out.push(required(path, "because otherwise all fields are pruned"));
    }
  });
}

function checkGroup(out: FieldError[], group: string): void {
  const path = "spec.group";
  if (group === "") {
    out.push(required(path));
    return;
  }
  const errors = subdomainErrors(group);
  if (errors.length > 0) out.push(invalidValue(path, group, errors.join(",")));
  else if (!group.includes(".")) {
    out.push(invalidValue(path, group, "should be a domain with at least one dot"));
  }
}

type Approval = "missing" | "bypassed" | "approved" | "invalid";

function approvalOf(definition: Fields): Approval {
  const value = textMap(part(definition, "metadata"), "annotations")[approval] ?? "";
  if (value === "") return "missing";
  if (value.startsWith("unapproved")) return "bypassed";
  const isUrl = formatCheck("uri")?.(value) === true && /^[^:/]+:\/\/[^/]/.test(value);
  return isUrl ? "approved" : "invalid";
}

/** Community-owned groups require an approval annotation. */
function checkApproval(out: FieldError[], definition: Fields, old: Fields | undefined): void {
  const group = text(part(definition, "spec"), "group");
  const isProtected = protectedSuffixes.some(
    (end) => group.endsWith(end) || group === end.slice(1),
  );
  const state = approvalOf(definition);
  if (!isProtected || (old !== undefined && approvalOf(old) === state)) return;
  const path = key("metadata.annotations", approval);
  const link = "see https://github.com/kubernetes/enhancements/pull/1111";
  const must = `protected groups must have approval annotation "${approval}"`;
  if (state === "missing") out.push(required(path, `${must}, ${link}`));
  if (state !== "invalid") return;
  const value = textMap(part(definition, "metadata"), "annotations")[approval] ?? "";
  const detail = `${must} with either a URL or a reason starting with "unapproved", ${link}`;
  out.push(invalidValue(path, value, detail));
}

function checkPreserve(out: FieldError[], spec: Fields, old: Fields | undefined): void {
  if (!flag(spec, "preserveUnknownFields") || flag(old ?? {}, "preserveUnknownFields")) return;
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
  out.push(invalidValue("spec.preserveUnknownFields", true, detail));
}

function checkVersions(
  out: FieldError[],
  { versions, shared }: Hoisted,
  options: DefinitionOptions,
): void {
  const path = "spec.versions";
  versions.forEach((version, at) => {
    const here = index(path, at);
    const name = text(version, "name");
    const errors = dns1035LabelErrors(name);
    if (errors.length > 0) out.push(invalidValue(child(here, "name"), name, errors.join(",")));
    const subresources = maybe(shared, "subresources") ?? part(version, "subresources");
    checkVersion(out, version, has(subresources, "status"), options, here);
  });
  const names = versions.map((version) => text(version, "name"));
  if (new Set(names).size < names.length) {
    out.push(invalidValue(path, goVersions(versions), "must contain unique version names"));
  }
  if (versions.filter((version) => flag(version, "storage")).length !== 1) {
    const detail = "must have exactly one version marked as storage version";
    out.push(invalidValue(path, goVersions(versions), detail));
  }
  const first = names[0] ?? "";
  const errors = first === "" ? [] : dns1035LabelErrors(first);
  if (errors.length > 0) out.push(invalidValue("spec.version", first, errors.join(",")));
}

function checkVersion(
  out: FieldError[],
  version: Fields,
  hasStatus: boolean,
  options: DefinitionOptions,
  path: string,
): void {
  checkDeprecation(out, version, child(path, "deprecationWarning"));
  const schema = maybe(part(version, "schema"), "openAPIV3Schema");
  if (schema !== undefined) checkSchema(out, schema, hasStatus, options, child(path, "schema"));
  checkSubresources(out, part(version, "subresources"), child(path, "subresources"));
  checkColumns(out, version, child(path, "additionalPrinterColumns"));
  if (items(version, "selectableFields").length === 0) return;
  const at = child(path, "selectableFields");
  if (schema === undefined) {
    const detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
    out.push(invalidValue(at, "", detail));
  } else {
    const mayBeMany = options.tooManyFields.has(text(version, "name"));
    checkSelectable(out, items(version, "selectableFields"), schema, mayBeMany, at);
  }
}

const warningMax = 256;
const encoder = new TextEncoder();

function checkDeprecation(out: FieldError[], version: Fields, path: string): void {
  const warning = maybeText(version, "deprecationWarning");
  if (warning === undefined) return;
  const found: string[] = [];
  if (!flag(version, "deprecated")) found.push("can only be set for deprecated versions");
  else {
    const bytes = encoder.encode(warning);
    if (bytes.length > warningMax) found.push("must be <= 256 characters long");
    if (warning === "") found.push("must not be an empty string");
    const bad = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning);
    if (bad !== null) {
      const at = encoder.encode(warning.slice(0, bad.index)).length;
      const rule = "must only contain printable UTF-8 characters";
      found.push(`${rule}; non-printable character found at index ${at}`);
    }
  }
  append(out, invalidEach(path, warning, found));
}

function checkSharedSelectable(
  out: FieldError[],
  shared: Fields,
  schema: Fields | undefined,
  options: DefinitionOptions,
): void {
  const path = "spec.selectableFields";
  if (maybe(shared, "schema") === undefined) {
    out.push(invalidValue(path, "", "may only be set when validations.schema is included"));
    return;
  }
  const mayBeMany = options.tooManyFields.has("");
  checkSelectable(out, items(shared, "selectableFields"), schema ?? {}, mayBeMany, path);
}

const selectableTypes = ["string", "boolean", "integer"];
const selectableText =
  "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";

function checkSelectable(
  out: FieldError[],
  fields: readonly Fields[],
  schema: Fields,
  mayBeMany: boolean,
  path: string,
): void {
  const seen = new Set<string>();
  fields.forEach((field, i) => {
    const value = text(field, "jsonPath");
    const at = child(index(path, i), "jsonPath");
    if (value === "") {
      out.push(required(at));
      return;
    }
    const found = findField(value, schema, false);
    if (found.error !== undefined) {
      out.push(invalidValue(at, value, `is an invalid path: ${found.error}`));
      return;
    }
    if (found.names[0] === "metadata") {
      out.push(invalidValue(at, value, "must not point to fields in metadata"));
    }
    const type = text(found.schema ?? {}, "type");
    if (!selectableTypes.includes(type)) out.push(invalidValue(at, value, selectableText));
    const name = found.names.join(".");
    if (seen.has(name)) out.push(duplicate(at, value));
    seen.add(name);
  });
  if (seen.size > selectableMax && !mayBeMany) out.push(tooMany(path, seen.size, selectableMax));
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

function checkColumns(out: FieldError[], version: Fields, path: string): void {
  items(version, "additionalPrinterColumns").forEach((column, at) => {
    const here = index(path, at);
    if (text(column, "name") === "") out.push(required(child(here, "name")));
    const type = text(column, "type");
    const oneOf = `must be one of ${columnTypes.join(",")}`;
    if (type === "") out.push(required(child(here, "type"), oneOf));
    else if (!columnTypes.includes(type)) {
      out.push(invalidValue(child(here, "type"), type, oneOf));
    }
    const format = text(column, "format");
    if (format !== "" && !columnFormats.includes(format)) {
      const detail = `must be one of ${columnFormats.join(",")}`;
      out.push(invalidValue(child(here, "format"), format, detail));
    }
    const pathAt = child(here, "JSONPath");
    const value = text(column, "jsonPath");
    if (value === "") out.push(required(pathAt));
    else checkSimplePath(out, value, pathAt);
  });
}

/** @returns false when a finding was added. */
function checkSimplePath(out: FieldError[], value: string, path: string): boolean {
  if (value.startsWith(".")) return true;
  out.push(invalidValue(path, value, "must be a simple json path starting with ."));
  return false;
}

function checkSubresources(out: FieldError[], subresources: Fields, path: string): void {
  const scale = maybe(subresources, "scale");
  if (scale === undefined) return;
  for (const [field, start] of [
    ["specReplicasPath", ".spec."],
    ["statusReplicasPath", ".status."],
  ] as const) {
    const value = text(scale, field);
    const at = child(path, "scale", field);
    if (value === "") out.push(required(at));
    else if (checkSimplePath(out, value, at) && !value.startsWith(start)) {
      out.push(invalidValue(at, value, `should be a json path under ${start.slice(0, -1)}`));
    }
  }
  const selector = text(scale, "labelSelectorPath");
  const at = child(path, "scale", "labelSelectorPath");
  if (selector === "" || !checkSimplePath(out, selector, at)) return;
  if (selector.startsWith(".spec.") || selector.startsWith(".status.")) return;
  out.push(invalidValue(at, selector, "should be a json path under either .spec or .status"));
}

function checkNames(out: FieldError[], names: Fields, path: string): void {
  for (const field of ["plural", "singular"]) {
    const name = text(names, field);
    if (name !== "") checkLabel(out, name, child(path, field));
  }
  for (const field of ["kind", "listKind"]) {
    const kind = text(names, field);
    const errors = kind === "" ? [] : dns1035LabelErrors(kind.toLowerCase());
    if (errors.length === 0) continue;
    const detail = `may have mixed case, but should otherwise match: ${errors.join(",")}`;
    out.push(invalidValue(child(path, field), kind, detail));
  }
  checkLabels(out, names, "shortNames", path);
  if (text(names, "kind") !== "" && text(names, "kind") === text(names, "listKind")) {
    const detail = "kind and listKind may not be the same";
    out.push(invalidValue(child(path, "listKind"), text(names, "listKind"), detail));
  }
  checkLabels(out, names, "categories", path);
}

function checkLabels(out: FieldError[], names: Fields, field: string, path: string): void {
  texts(names, field).forEach((name, at) => {
    checkLabel(out, name, index(child(path, field), at));
  });
}

function checkLabel(out: FieldError[], name: string, path: string): void {
  const errors = dns1035LabelErrors(name);
  if (errors.length > 0) out.push(invalidValue(path, name, errors.join(",")));
}

function checkConversion(out: FieldError[], spec: Fields, options: DefinitionOptions): void {
  const conversion = maybe(spec, "conversion");
  if (conversion === undefined) return;
  const path = "spec.conversion";
  const strategy = text(conversion, "strategy");
  const webhook = maybe(conversion, "webhook");
  checkOneOf(out, strategy, ["None", "Webhook"], child(path, "strategy"));
  const client = maybe(webhook ?? {}, "clientConfig");
  const clientAt = child(path, "webhookClientConfig");
  const versions = texts(webhook ?? {}, "conversionReviewVersions");
  const versionsAt = child(path, "conversionReviewVersions");
  if (strategy === "Webhook") {
    if (client === undefined) {
      out.push(required(clientAt, "required when strategy is set to Webhook"));
    } else {
      checkClient(out, client, clientAt);
      if (options.requiresGoodBundle) checkBundle(out, spec, client, clientAt);
    }
    checkReviewVersions(out, versions, options.requiresKnownReview, versionsAt);
    return;
  }
  const detail = "should not be set when strategy is not set to Webhook";
  if (client !== undefined) out.push(forbiddenField(clientAt, detail));
  if (versions.length > 0) out.push(forbiddenField(versionsAt, detail));
}

function checkBundle(out: FieldError[], spec: Fields, client: Fields, path: string): void {
  const fault = conversionBundleFault(spec);
  if (fault === undefined) return;
  out.push(invalidValue(child(path, "caBundle"), text(client, "caBundle"), fault));
}

function checkReviewVersions(
  out: FieldError[],
  versions: readonly string[],
  requiresKnown: boolean,
  path: string,
): void {
  if (versions.length === 0) {
    out.push(required(path));
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, at) => {
    if (seen.has(version)) out.push(invalidValue(index(path, at), version, "duplicate version"));
    else append(out, invalidEach(index(path, at), version, dns1035LabelErrors(version)));
    seen.add(version);
  });
  if (!requiresKnown || versions.some((version) => reviewVersions.includes(version))) return;
  const detail = `must include at least one of ${reviewVersions.join(", ")}`;
  out.push(invalidValue(path, versions, detail));
}

/** Versions with stored objects must remain. */
function checkStored(
  out: FieldError[],
  versions: readonly Fields[],
  stored: readonly string[],
): void {
  const path = "status.storedVersions";
  if (stored.length === 0) {
    out.push(invalidValue(path, null, "must have at least one stored version"));
    return;
  }
  const names = new Set<string>();
  for (const version of versions) {
    const name = text(version, "name");
    // A repeated name was removed from the list before, so it counts as missing.
    if (flag(version, "storage") && (!stored.includes(name) || names.has(name))) {
      out.push(invalidValue(path, stored, `must have the storage version ${name}`));
    }
    names.add(name);
  }
  stored.forEach((name, at) => {
    if (names.has(name)) return;
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    out.push(invalidValue(index(path, at), name, detail));
  });
}

/** Warns about formats without meaning; on an update only about those that the old definition did not have. */
export function definitionWarnings(next: Fields, old: Fields | undefined): readonly string[] {
  const known = old === undefined ? new Set<string>() : unknownFormats(old);
  return [...unknownFormats(next)]
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function unknownFormats(definition: Fields): Set<string> {
  const found = new Set<string>();
  for (const version of items(part(definition, "spec"), "versions")) {
    someSchema(part(part(version, "schema"), "openAPIV3Schema"), (schema) => {
      const format = text(schema, "format");
      if (format !== "" && !isKnownFormat(text(schema, "type"), format)) found.add(format);
      return false;
    });
  }
  return found;
}
