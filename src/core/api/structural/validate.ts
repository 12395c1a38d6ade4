/**
 * Validation of a custom object against its schema, in upstream's words and order.
 *
 * In     an object with defaults filled in, its schema, and for an update the stored object.
 * Out    findings: values against the schema, then metadata of embedded resources, then duplicates in sets
 *        and keyed lists. Findings about values that did not change are left out (ratcheting).
 * Cost   one walk over a valid object, nothing allocated per value; a second walk beside the old object
 *        only when the first walk found something.
 * Bounds see findings.ts.
 * After  kube-openapi pkg/validation/validate (schema.go, schema_props.go, object_validator.go,
 *        slice_validator.go); apiextensions-apiserver pkg/apiserver/validation.
 * Differs  findings come in the order of the object's fields; upstream's order is random.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldError } from "../status.ts";
import { append } from "../validation/errors.ts";
import { SchemaChecks } from "./checks.ts";
import { Correlated } from "./correlate.ts";
import { embeddedErrors } from "./embedded.ts";
import {
  add,
  alternativeWork,
  type Finding,
  forgetSince,
  newOutcome,
  newWalk,
  noField,
  type Outcome,
  pathText,
  spend,
  type Walk,
  workMax,
} from "./findings.ts";
import { listTypeErrors } from "./list-types.ts";
import type { Structural } from "./structural.ts";
import {
  checkEnum,
  checkNumber,
  checkText,
  checkType,
  reportInvalid,
  reportRequired,
  reportTooMany,
  reportWhole,
} from "./value-checks.ts";

/** The caller validates the object's own metadata, as for every kind. */
export function validateCustomObject(
  object: JsonObject,
  structural: Structural,
  old?: JsonObject,
): FieldError[] {
  const out = schemaErrors(object, structural, old);
  append(out, embeddedErrors(object, structural));
  if (!structural.hasKeyedLists) return out;
  const found = listTypeErrors(object, structural);
  // Duplicates are accepted if the old object had any.
  if (found.length > 0 && (old === undefined || listTypeErrors(old, structural).length === 0)) {
    append(out, found);
  }
  return out;
}

/** Validates an update of the status subresource: only the status, with paths that begin there. */
export function validateCustomStatus(
  object: JsonObject,
  structural: Structural,
  old: JsonObject,
): FieldError[] {
  const status = ownEntry(object, "status");
  const node = structural.property("status");
  if (status === undefined || node === undefined) return [];
  const found = schemaErrors(status, node, ownEntry(old, "status") ?? null);
  const out = found.map((error) => ({ ...error, field: statusField(error.field) }));
  append(out, embeddedErrors(object, structural));
  const repeated = listTypeErrors(object, structural);
  if (repeated.length > 0 && listTypeErrors(old, structural).length === 0) append(out, repeated);
  return out;
}

function statusField(field: string): string {
  return field === noField ? "status" : `status.${field}`;
}

/** Work budget shared by several validations; see findings.ts for the unit. */
export interface WorkLeft {
  left: number;
}

/** Validates values against the schema only, without comparing old values; used for defaults too. */
export function schemaErrors(
  value: JsonValue,
  structural: Structural,
  old?: JsonValue,
  work: WorkLeft = { left: workMax },
): FieldError[] {
  const checks = checksOf(structural);
  const found = walkAll(value, checks, undefined, work);
  if (found.length === 0 || old === undefined) return found;
  return walkAll(value, checks, new Correlated(value, old, structural), work);
}

const compiled = new WeakMap<Structural, SchemaChecks>();

function checksOf(structural: Structural): SchemaChecks {
  const known = compiled.get(structural);
  if (known !== undefined) return known;
  const made = new SchemaChecks(structural.schema);
  compiled.set(structural, made);
  return made;
}

const tooMuchWork: FieldError = {
  reason: "FieldValueInvalid",
  field: noField,
  message: 'Invalid value: "": the object takes more work to validate than is allowed',
};

function walkAll(
  value: JsonValue,
  checks: SchemaChecks,
  correlated: Correlated | undefined,
  work: WorkLeft,
): FieldError[] {
  const walk = newWalk(work.left);
  walkField(walk, checks, value, correlated);
  work.left = walk.workLeft;
  if (walk.workLeft <= 0) return [tooMuchWork];
  return walk.outcome.findings.map(withoutText);
}

function withoutText({ reason, field, message }: Finding): FieldError {
  return { reason, field, message };
}

/** Validates a value whose findings count only if it has changed. */
function walkField(
  walk: Walk,
  checks: SchemaChecks,
  value: JsonValue,
  correlated: Correlated | undefined,
): void {
  const before = walk.outcome.findings.length;
  walkValue(walk, checks, value, correlated);
  if (correlated === undefined || walk.outcome.findings.length === before) return;
  if (correlated.isUnchanged) forgetSince(walk.outcome, before);
}

function walkValue(
  walk: Walk,
  checks: SchemaChecks,
  value: JsonValue,
  correlated: Correlated | undefined,
): void {
  if (!spend(walk, 1)) return;
  checkType(walk, checks, value);
  if (value === null) {
    checkEnum(walk, checks, value);
    return;
  }
  if (checks.types.length > 0 || checks.format !== "") walk.outcome.passed++;
  if (checks.hasJunctors) walkJunctors(walk, checks, value, correlated);
  walk.outcome.passed += 2;
  if (typeof value === "string") checkText(walk, checks, value);
  else if (typeof value === "number") checkNumber(walk, checks, value);
  else if (Array.isArray(value)) {
    walkList(walk, checks, value as readonly JsonValue[], correlated);
  }
  checkEnum(walk, checks, value);
  walk.outcome.passed += 2;
  if (!isRecord(value)) return;
  walkObject(walk, checks, value as JsonObject, correlated);
  walk.outcome.passed++;
}

function walkList(
  walk: Walk,
  checks: SchemaChecks,
  list: readonly JsonValue[],
  correlated: Correlated | undefined,
): void {
  const { items, minItems, maxItems } = checks;
  if (items !== undefined) {
    for (let at = 0; at < list.length; at++) {
      walk.path.push(at);
      walkField(walk, items, list[at] as JsonValue, correlated?.item(at)); // at < length
      walk.path.pop();
    }
  }
  if (minItems !== undefined && list.length < minItems) {
    reportInvalid(walk, list.length, `should have at least ${minItems} items`);
  }
  if (maxItems !== undefined && list.length > maxItems) {
    reportTooMany(walk, list.length, maxItems, "items");
  }
  walk.outcome.passed += 2;
}

function walkObject(
  walk: Walk,
  checks: SchemaChecks,
  object: JsonObject,
  correlated: Correlated | undefined,
): void {
  checkFieldCount(walk, checks, object);
  const { additional } = checks;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const below = checks.property(name) ?? additional;
    if (below !== undefined) walkNamed(walk, below, name, value, correlated);
    else if (checks.isClosed) reportForbidden(walk, name);
  }
  for (const name of checks.required) {
    if (ownEntry(object, name) === undefined) reportRequired(walk, name);
  }
}

function reportForbidden(walk: Walk, name: string): void {
  const path = pathText(walk);
  const detail = `${path}.${name} in body is a forbidden property`;
  const message = `Invalid value: ${JSON.stringify(name)}: ${detail}`;
  add(walk, { reason: "FieldValueInvalid", field: path || noField, message, text: detail });
}

function checkFieldCount(walk: Walk, checks: SchemaChecks, object: JsonObject): void {
  const { minProperties, maxProperties } = checks;
  if (minProperties === undefined && maxProperties === undefined) return;
  const fields = Object.values(object).filter((value) => value !== undefined).length;
  if (minProperties !== undefined && fields < minProperties) {
    reportInvalid(walk, fields, `should have at least ${minProperties} properties`);
  }
  if (maxProperties !== undefined && fields > maxProperties) {
    reportTooMany(walk, fields, maxProperties, "properties");
  }
}

/** Findings about apiVersion and kind of the whole object always count, because their change is not visible here. */
function walkNamed(
  walk: Walk,
  checks: SchemaChecks,
  name: string,
  value: JsonValue,
  correlated: Correlated | undefined,
): void {
  const isTypeMeta = walk.path.length === 0 && (name === "apiVersion" || name === "kind");
  walk.path.push(name);
  walkField(walk, checks, value, isTypeMeta ? undefined : correlated?.field(name));
  walk.path.pop();
}

/** Evaluates one alternative without adding its findings to the others. */
function tryAlternative(
  walk: Walk,
  checks: SchemaChecks,
  value: JsonValue,
  correlated: Correlated | undefined,
): Outcome {
  const around = walk.outcome;
  walk.outcome = newOutcome();
  if (spend(walk, alternativeWork)) walkValue(walk, checks, value, correlated);
  const outcome = walk.outcome;
  walk.outcome = around;
  return outcome;
}

function merge(walk: Walk, outcome: Outcome | undefined): void {
  if (outcome === undefined) return;
  walk.outcome.passed += outcome.passed;
  for (const finding of outcome.findings) add(walk, finding);
}

function walkJunctors(
  walk: Walk,
  checks: SchemaChecks,
  value: JsonValue,
  correlated: Correlated | undefined,
): void {
  const run = (below: SchemaChecks): Outcome => tryAlternative(walk, below, value, correlated);
  if (checks.anyOf.length > 0) walkAnyOf(walk, checks.anyOf, run);
  if (checks.oneOf.length > 0) walkOneOf(walk, checks.oneOf, run);
  if (checks.allOf.length > 0) walkAllOf(walk, checks.allOf, run);
  if (checks.not !== undefined && run(checks.not).findings.length === 0) {
    reportWhole(walk, `${quotedPath(walk)} must not validate the schema (not)`);
  }
}

type Run = (checks: SchemaChecks) => Outcome;

function quotedPath(walk: Walk): string {
  return JSON.stringify(pathText(walk));
}

/** If all alternatives fail, the one with most passed checks is reported; among equals the first. */
function better(best: Outcome | undefined, next: Outcome): Outcome {
  return best === undefined || next.passed > best.passed ? next : best;
}

function walkAnyOf(walk: Walk, alternatives: readonly SchemaChecks[], run: Run): void {
  let best: Outcome | undefined;
  for (const checks of alternatives) {
    const outcome = run(checks);
    if (outcome.findings.length === 0) {
      merge(walk, outcome);
      return;
    }
    best = better(best, outcome);
    if (walk.workLeft <= 0) return;
  }
  reportWhole(walk, `${quotedPath(walk)} must validate at least one schema (anyOf)`);
  merge(walk, best);
}

function walkOneOf(walk: Walk, alternatives: readonly SchemaChecks[], run: Run): void {
  let best: Outcome | undefined;
  let first: Outcome | undefined;
  let fitting = 0;
  for (const checks of alternatives) {
    const outcome = run(checks);
    if (walk.workLeft <= 0) return;
    if (outcome.findings.length === 0) {
      fitting++;
      first ??= outcome;
    } else if (fitting === 0) best = better(best, outcome);
  }
  if (fitting === 1) {
    merge(walk, first);
    return;
  }
  const found = fitting === 0 ? "Found none valid" : `Found ${fitting} valid alternatives`;
  reportWhole(walk, `${quotedPath(walk)} must validate one and only one schema (oneOf). ${found}`);
  if (fitting === 0) merge(walk, best);
}

function walkAllOf(walk: Walk, schemas: readonly SchemaChecks[], run: Run): void {
  let fitting = 0;
  for (const checks of schemas) {
    const outcome = run(checks);
    if (walk.workLeft <= 0) return;
    if (outcome.findings.length === 0) fitting++;
    merge(walk, outcome);
  }
  if (fitting === schemas.length) return;
  const found = fitting === 0 ? ". None validated" : "";
  reportWhole(walk, `${quotedPath(walk)} must validate all the schemas (allOf)${found}`);
}
