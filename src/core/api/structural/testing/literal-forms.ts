/**
 * A reference for pruning and defaulting: slow and literal, by the schema's text, nothing compiled, nothing
 * shared with the code it judges. Without embedded resources, and with defaults that have no fields.
 * After  apiextensions-apiserver pkg/apiserver/schema: pruning/algorithm.go, defaulting/algorithm.go.
 */
import { isJsonObject } from "../../json/json-value.ts";
import type { JsonObject, JsonValue } from "../../object.ts";

/** `keeps`: fields unknown to the schema stay, because a schema above preserves them. */
export function prunedLiterally(
  schema: JsonObject | undefined,
  value: JsonValue,
  keeps = false,
): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  const isKeeping = keeps || schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (Array.isArray(value)) {
    const items = schema?.["items"] as JsonObject | undefined;
    if (isKeeping && items === undefined) return value;
    return value.map((one: JsonValue) => prunedLiterally(items, one, isKeeping));
  }
  return changedFields(value as JsonObject, (name, below) => {
    const known = schemaBelow(schema, name);
    if (known !== undefined) return prunedLiterally(known, below);
    return isKeeping ? below : undefined;
  });
}

export function defaultedLiterally(schema: JsonObject | undefined, value: JsonValue): JsonValue {
  if (schema === undefined || typeof value !== "object") return value;
  if (value === null) return value;
  if (Array.isArray(value)) {
    const items = schema["items"] as JsonObject | undefined;
    return value.map((one: JsonValue) => filledLiterally(items, one));
  }
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonObject>>;
  const added = Object.entries(properties).flatMap(([name, property]) =>
    Object.hasOwn(value, name) || property["default"] === undefined
      ? []
      : [[name, property["default"]] as const],
  );
  const filled = changedFields(value as JsonObject, (name, below) => {
    const known = schemaBelow(schema, name);
    const isWrong = below === null && known !== undefined && known["nullable"] !== true;
    return isWrong ? known["default"] : defaultedLiterally(known, below);
  });
  return { ...filled, ...Object.fromEntries(added) };
}

/** Replaces a forbidden null by the default; without one, an item stays and a field is removed. */
function filledLiterally(schema: JsonObject | undefined, value: JsonValue): JsonValue {
  const isWrong = value === null && schema?.["nullable"] !== true;
  if (isWrong && schema?.["default"] !== undefined) return schema["default"];
  return defaultedLiterally(schema, value);
}

function schemaBelow(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  const { properties = {}, additionalProperties } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, JsonObject>>;
    readonly additionalProperties?: JsonObject;
  };
  if (Object.hasOwn(properties, name)) return properties[name];
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}

/** `undefined`: the field is removed. */
function changedFields(
  object: JsonObject,
  change: (name: string, value: JsonValue) => JsonValue | undefined,
): JsonObject {
  const fields = Object.entries(object).flatMap(([name, value]) => {
    const next = value === undefined ? undefined : change(name, value);
    return next === undefined ? [] : [[name, next] as const];
  });
  return Object.fromEntries(fields);
}
