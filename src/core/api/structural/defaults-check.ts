/**
 * Checks that the defaults of a schema are values of that schema, with nothing that it would prune.
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "../json/json-value.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldError } from "../status.ts";
import { append, child, invalidValue, key } from "../validation/errors.ts";
import { coerceAt } from "./coerce.ts";
import { embeddedErrorsOf, resourceErrors } from "./embedded.ts";
import { noField, workMax } from "./findings.ts";
import { pruneValue } from "./prune.ts";
import type { Structural } from "./structural.ts";
import { schemaErrors, type WorkLeft } from "./validate.ts";

interface Check {
  readonly out: FieldError[];
  readonly requiresPruned: boolean;
  /** Work budget of all defaults together, because each may be as large as the schema. */
  readonly work: WorkLeft;
}

/** The resource that encloses a node: its schema, and the path to the node when that is in its metadata. */
interface Around {
  readonly root: Structural;
  /** `undefined` stands for a list item. */
  readonly way: readonly (string | undefined)[];
  readonly isInMetadata: boolean;
}

export function defaultErrors(
  root: Structural,
  path: string,
  requiresPruned: boolean,
): FieldError[] {
  const check: Check = { out: [], requiresPruned, work: { left: workMax } };
  checkNode(check, root, path, { root, way: [], isInMetadata: false }, true);
  return check.out;
}

function checkNode(
  check: Check,
  node: Structural,
  path: string,
  around: Around,
  isResourceRoot: boolean,
): void {
  if (!node.hasDefaults) return;
  const isResource = isResourceRoot || node.isEmbeddedResource;
  const here: Around = isResource ? { root: node, way: [], isInMetadata: false } : around;
  const value = ownEntry(node.schema, "default");
  if (value !== undefined && value !== null) {
    const at = child(path, "default");
    if (here.isInMetadata) checkInMetadata(check, node, value, at, here);
    else checkDefault(check, node, value, at);
  }
  const { items } = node;
  if (items !== undefined) {
    checkNode(check, items, child(path, "items"), below(here, undefined, false), false);
  }
  for (const name of node.propertyNames) {
    const property = node.property(name);
    if (property === undefined) continue;
    const isMeta = isResource && (name === "metadata" || name === "apiVersion" || name === "kind");
    const at = key(child(path, "properties"), name);
    checkNode(check, property, at, below(here, name, isMeta), false);
  }
}

function below(around: Around, name: string | undefined, isMeta: boolean): Around {
  const isInMetadata = around.isInMetadata || isMeta;
  return { root: around.root, way: [...around.way, name], isInMetadata };
}

function checkDefault(check: Check, node: Structural, value: JsonValue, path: string): void {
  if (check.requiresPruned && !jsonEqual(pruneValue(value, node), value)) {
    check.out.push(invalidValue(path, value, "must not have unknown fields"));
  }
  if (node.hasEmbedded) {
    const found = metadataErrors(value, node, path);
    if (found.length > 0) {
      append(check.out, found);
      return;
    }
  }
  checkValue(check, node, value, path);
}

function metadataErrors(value: JsonValue, node: Structural, path: string): readonly FieldError[] {
  const options = { dropInvalid: false, isResourceRoot: node.isEmbeddedResource };
  if (isRecord(value)) {
    const { error } = coerceAt(value as JsonObject, node, options, path);
    if (error !== undefined) return [error];
  }
  return embeddedErrorsOf(value, node, path);
}

function checkValue(check: Check, node: Structural, value: JsonValue, path: string): void {
  for (const error of schemaErrors(value, node, undefined, check.work)) {
    const field = error.field === noField ? path : child(path, error.field);
    check.out.push({ ...error, field });
  }
}

/** Checks a default of a metadata field: the resource that contains it must be valid. */
function checkInMetadata(
  check: Check,
  node: Structural,
  value: JsonValue,
  path: string,
  around: Around,
): void {
  const wrapped = around.way.reduceRight<JsonValue>(
    (inner, name) => (name === undefined ? [inner] : { [name]: inner }),
    value,
  );
  const object: JsonObject = {
    kind: "Validation",
    apiVersion: "validation/v1",
    ...(wrapped as JsonObject), // the first step down from a resource is a name
  };
  const options = { dropInvalid: false, isResourceRoot: true };
  const { error } = coerceAt(object, around.root, options, "");
  const found = error === undefined ? resourceErrors(object, around.root, "") : [error];
  if (found.length === 0) {
    checkValue(check, node, value, path);
    return;
  }
  const texts = [...new Set(found.map((one) => `${one.field}: ${one.message}`))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  check.out.push(invalidValue(path, value, `must result in valid metadata: ${list}`));
}
