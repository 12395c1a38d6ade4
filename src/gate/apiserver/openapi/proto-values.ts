/**
 * Encoders that both versions of gnostic's OpenAPI messages share: lists of (name, value) for maps, x- fields with
 * their values as YAML text, and reads of a JSON document.
 */
import { assert } from "#base/assert.ts";
import { isRecord } from "#base/is-record.ts";
import type { Steps } from "#base/steps.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import type { ProtobufWriter } from "./protobuf-writer.ts";

export function extensions(w: ProtobufWriter, field: number, value: JsonObject): void {
  const entries = Object.entries(value).filter(([key]) => key.startsWith("x-"));
  w.repeated(field, entries, ([key, member]) => {
    w.message(2, () => any(w, member ?? null));
    w.string(1, key);
  });
}

/** Any { yaml } */
export function any(w: ProtobufWriter, value: JsonValue): void {
  w.string(2, `${JSON.stringify(value)}\n`);
}

/** Writes like `writeNamed`, one step per element. */
export function* namedSteps(
  w: ProtobufWriter,
  { field, element }: { readonly field: number; readonly element: number },
  values: JsonObject,
  write: (w: ProtobufWriter, value: JsonObject) => void,
): Steps<void> {
  const begun = w.begin();
  for (const [name, value] of Object.entries(values).reverse()) {
    w.message(element, () => {
      w.message(2, () => write(w, asObject(value ?? {})));
      w.string(1, name);
    });
    yield;
  }
  w.end(field, begun);
}

/** Writes a message that consists of a list of (name, value). */
export function writeNamed(
  w: ProtobufWriter,
  field: number,
  element: number,
  values: JsonObject,
  write: (value: JsonObject) => void,
): void {
  w.message(field, () => repeatNamed(w, element, values, write));
}

export function repeatNamed(
  w: ProtobufWriter,
  field: number,
  values: JsonObject,
  write: (value: JsonObject) => void,
): void {
  w.repeated(field, Object.entries(values), ([name, value]) => {
    w.message(2, () => write(asObject(value ?? {})));
    w.string(1, name);
  });
}

export function asObject(value: JsonValue): JsonObject {
  assert(isRecord(value), "not an object");
  return value as JsonObject; // just asserted
}

export function asList(value: JsonValue): readonly JsonValue[] {
  assert(Array.isArray(value), "not a list");
  return value as readonly JsonValue[]; // just asserted
}

export function asText(value: JsonValue): string {
  assert(typeof value === "string", "not a text");
  return value;
}

export function objectAt(value: JsonObject, key: string): JsonObject {
  return asObject(value[key] ?? {});
}

export function listAt(value: JsonObject, key: string): readonly JsonValue[] {
  return asList(value[key] ?? []);
}

export function stringAt(value: JsonObject, key: string): string | undefined {
  const member = value[key];
  return typeof member === "string" ? member : undefined;
}

export function stringsAt(value: JsonObject, key: string): readonly string[] {
  return listAt(value, key).map(asText);
}
