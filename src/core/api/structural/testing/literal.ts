/**
 * A reference that decides whether a value fits a schema: slow and literal, one line per keyword of the schema's text,
 * nothing compiled, nothing shared with the validator it judges.
 */
import type { JsonObject, JsonValue } from "../../object.ts";

type Schema = Readonly<Record<string, unknown>>;

export function fitsLiterally(schema: Schema, value: JsonValue): boolean {
  if (value === null) {
    const isTyped = schema["type"] !== undefined || isMixed(schema);
    return (!isTyped || schema["nullable"] === true) && schema["enum"] === undefined;
  }
  return (
    hasType(schema, value) &&
    inEnum(schema, value) &&
    fitsKind(schema, value) &&
    fitsJunctors(schema, value)
  );
}

function isMixed(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true;
}

function hasType(schema: Schema, value: JsonValue): boolean {
  if (isMixed(schema)) return typeof value === "string" || Number.isInteger(value);
  switch (schema["type"]) {
    case undefined:
      return true;
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && !Array.isArray(value);
    default:
      return typeof value === schema["type"];
  }
}

function inEnum(schema: Schema, value: JsonValue): boolean {
  const list = schema["enum"] as readonly JsonValue[] | undefined;
  return list === undefined || list.includes(value);
}

function within(size: number, low: unknown, high: unknown): boolean {
  return (
    (low === undefined || size >= (low as number)) &&
    (high === undefined || size <= (high as number))
  );
}

function fitsKind(schema: Schema, value: JsonValue): boolean {
  if (typeof value === "string") {
    const pattern = schema["pattern"] as string | undefined;
    const isMatch = pattern === undefined || new RegExp(pattern, "u").test(value);
    return isMatch && within(Array.from(value).length, schema["minLength"], schema["maxLength"]);
  }
  if (typeof value === "number") {
    const factor = schema["multipleOf"] as number | undefined;
    const isMultiple = factor === undefined || value % factor === 0;
    const isOnBound = value === schema["minimum"] && schema["exclusiveMinimum"] === true;
    return isMultiple && !isOnBound && within(value, schema["minimum"], schema["maximum"]);
  }
  if (Array.isArray(value)) {
    const items = schema["items"] as Schema | undefined;
    const fits = (value as JsonValue[]).every(
      (one) => items === undefined || fitsLiterally(items, one),
    );
    return fits && within(value.length, schema["minItems"], schema["maxItems"]);
  }
  return typeof value !== "object" || fitsObject(schema, value as JsonObject);
}

function fitsObject(schema: Schema, value: JsonObject): boolean {
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const additional = schema["additionalProperties"] as Schema | undefined;
  const required = (schema["required"] ?? []) as readonly string[];
  const names = Object.keys(value);
  return (
    within(names.length, schema["minProperties"], schema["maxProperties"]) &&
    required.every((name) => names.includes(name)) &&
    names.every((name) => {
      const below = properties[name] ?? additional;
      return below === undefined || fitsLiterally(below, value[name] as JsonValue);
    })
  );
}

function fitsJunctors(schema: Schema, value: JsonValue): boolean {
  const list = (name: string): readonly Schema[] => (schema[name] ?? []) as readonly Schema[];
  const fits = (one: Schema): boolean => fitsLiterally(one, value);
  return (
    list("allOf").every(fits) &&
    (list("anyOf").length === 0 || list("anyOf").some(fits)) &&
    (list("oneOf").length === 0 || list("oneOf").filter(fits).length === 1) &&
    (schema["not"] === undefined || !fits(schema["not"] as Schema))
  );
}
