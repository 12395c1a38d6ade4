/**
 * TypeMeta and ObjectMeta of a custom object and of the resources embedded in it: values of a wrong type
 * are refused or dropped, unknown fields of metadata are dropped and reported.
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/objectmeta (algorithm.go, coerce.go).
 */
import { isRecord } from "#base/is-record.ts";
import { setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { checkFields } from "../schema/decode.ts";
import { schemaOf } from "../schema/schema.ts";
import type { FieldError } from "../status.ts";
import { child, index, invalidValue, key } from "../validation/errors.ts";
import { byText } from "../validation/fields.ts";
import type { Structural } from "./structural.ts";

interface Coerced {
  /** The same reference when nothing changed. */
  readonly object: JsonObject;
  /** Sorted: `metadata.x`, `spec.template.metadata.x`. */
  readonly unknownFields: readonly string[];
  /** The first value of a wrong type, when such values are refused. */
  readonly error?: FieldError;
  /** The text for the server's 400: without a field when it concerns the object's own metadata. */
  readonly message?: string;
}

interface CoerceOptions {
  /** Drop values of a wrong type (reads of stored data, converted objects) instead of refusing them (writes). */
  readonly dropInvalid: boolean;
  /** The object itself is a resource; false for a part of a resource. */
  readonly isResourceRoot: boolean;
}

interface Walk {
  readonly dropInvalid: boolean;
  readonly unknown: string[];
  error: FieldError | undefined;
  /** The decoder's error text for the metadata of the object itself. */
  ownMessage: string | undefined;
}

export function coerceMetadata(
  object: JsonObject,
  structural: Structural | undefined,
  options: CoerceOptions,
): Coerced {
  return coerceAt(object, structural, options, "");
}

/** `path`: the object's path, for findings. */
export function coerceAt(
  object: JsonObject,
  structural: Structural | undefined,
  options: CoerceOptions,
  path: string,
): Coerced {
  const walk: Walk = {
    dropInvalid: options.dropInvalid,
    unknown: [],
    error: undefined,
    ownMessage: undefined,
  };
  const coerced = coerceFields(walk, object, structural, options.isResourceRoot, path);
  if (walk.error !== undefined) {
    const { error } = walk;
    const message = walk.ownMessage ?? `${error.field}: ${error.message}`;
    return { object, unknownFields: [], error, message };
  }
  return { object: coerced, unknownFields: walk.unknown.sort(byText) };
}

function coerceValue(
  walk: Walk,
  value: JsonValue,
  node: Structural | undefined,
  path: string,
): JsonValue {
  if (node === undefined || !node.hasEmbedded) return value;
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) {
    return coerceFields(walk, value as JsonObject, node, node.isEmbeddedResource, path);
  }
  let copy: JsonValue[] | undefined;
  const list = value as readonly JsonValue[];
  for (let at = 0; at < list.length && walk.error === undefined; at++) {
    const next = coerceValue(walk, list[at] as JsonValue, node.items, index(path, at)); // at < length
    if (next !== list[at]) (copy ??= [...list])[at] = next;
  }
  return copy ?? value;
}

function coerceFields(
  walk: Walk,
  object: JsonObject,
  node: Structural | undefined,
  isResource: boolean,
  path: string,
): JsonObject {
  if (!isResource && node?.hasEmbedded !== true) return object;
  const changed = new Map<string, JsonValue | undefined>();
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const own = isResource ? coerceOwn(walk, name, value, path) : value;
    const next = own === undefined ? undefined : coerceBelow(walk, name, own, node, path);
    if (walk.error !== undefined) return object;
    if (next !== value) changed.set(name, next);
  }
  if (changed.size === 0) return object;
  const copy: MutableObject = {};
  for (const name of Object.keys(object)) {
    const value = changed.has(name) ? changed.get(name) : object[name];
    if (value !== undefined) setField(copy, name, value as MutableJson); // kept, never changed
  }
  return copy;
}

function coerceBelow(
  walk: Walk,
  name: string,
  value: JsonValue,
  node: Structural | undefined,
  path: string,
): JsonValue {
  if (node?.hasEmbedded !== true) return value;
  const property = node.property(name);
  if (property !== undefined) return coerceValue(walk, value, property, child(path, name));
  const { additional } = node;
  return typeof additional === "object"
    ? coerceValue(walk, value, additional, key(path, name))
    : value;
}

/** Coerces apiVersion, kind and metadata of a resource; undefined: the value is dropped. */
function coerceOwn(
  walk: Walk,
  name: string,
  value: JsonValue,
  path: string,
): JsonValue | undefined {
  if (name === "apiVersion" || name === "kind") {
    if (typeof value === "string") return value;
    if (!walk.dropInvalid) walk.error = invalidValue(child(path, name), value, "must be a string");
    return undefined;
  }
  return name === "metadata" ? coerceMeta(walk, value, child(path, name)) : value;
}

function coerceMeta(walk: Walk, value: JsonValue, path: string): JsonValue {
  const whole = decodeMetadata(value);
  if (whole.kind === "ok") {
    tellUnknown(walk, whole.unknownFields, path);
    return whole.metadata;
  }
  if (!walk.dropInvalid) {
    refuseMeta(walk, sortFields(value), path);
    return value;
  }
  if (!isRecord(value)) return value;
  const kept: MutableObject = {};
  for (const [name, member] of Object.entries(value as JsonObject)) {
    const one = member === undefined ? undefined : decodeMetadata({ [name]: member });
    if (one?.kind !== "ok") continue;
    tellUnknown(walk, one.unknownFields, path);
    for (const [field, good] of Object.entries(one.metadata)) {
      setField(kept, field, good as MutableJson); // kept, never changed
    }
  }
  return kept;
}

/** Reports an error as Go does: it writes the map as JSON before reading it, in the order of names. */
function refuseMeta(walk: Walk, value: JsonValue, path: string): void {
  const decoded = decodeMetadata(value);
  const message = decoded.kind === "error" ? decoded.message : "";
  walk.error = invalidValue(path, value, message);
  if (path === "metadata") walk.ownMessage = message;
}

function sortFields(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(sortFields);
  const sorted: MutableObject = {};
  const object = value as JsonObject;
  for (const name of Object.keys(object).sort(byText)) {
    setField(sorted, name, sortFields(object[name] ?? null) as MutableJson); // made here
  }
  return sorted;
}

function tellUnknown(walk: Walk, fields: readonly string[], path: string): void {
  for (const field of fields) walk.unknown.push(child(path, field));
}

const definition = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

type DecodedMetadata =
  | {
      readonly kind: "ok";
      readonly metadata: JsonObject;
      readonly unknownFields: readonly string[];
    }
  | { readonly kind: "error"; readonly message: string };

export function decodeMetadata(value: JsonValue): DecodedMetadata {
  if (value === null) return { kind: "ok", metadata: {}, unknownFields: [] };
  const schema = schemaOf(definition);
  if (schema === undefined) return { kind: "error", message: "metadata has no schema" };
  const decoded = checkFields(value, schema);
  if (decoded.kind !== "ok") return { kind: "error", message: decoded.message };
  const metadata = decoded.object as unknown as JsonObject; // JSON of the kind
  return { kind: "ok", metadata, unknownFields: decoded.unknownFields.map(fieldText) };
}

function fieldText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : child(text, part)),
    "",
  );
}
