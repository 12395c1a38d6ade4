/** The protobuf forms of fields that contain arbitrary JSON. */
import { parseExactJson } from "#base/exact-json.ts";
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { keepText } from "#api/json/kept-json.ts";
import type { FieldSchema } from "#api/schema/schema-types.ts";
import { ProtobufError } from "#wire/protobuf.ts";

/** `raw`: a message whose field 1 is JSON text. The others are the unions in JSONSchemaProps. */
export type FreeForm = "raw" | "schemaOrBool" | "schemaOrArray" | "schemaOrStrings";

const unions: Readonly<Record<string, FreeForm>> = {
  additionalItems: "schemaOrBool",
  additionalProperties: "schemaOrBool",
  items: "schemaOrArray",
  dependencies: "schemaOrStrings",
};

export function freeFormOf(
  definition: string,
  name: string,
  schema: FieldSchema,
): FreeForm | undefined {
  if (definition.endsWith(".JSONSchemaProps") && Object.hasOwn(unions, name))
    return ownEntry(unions, name);
  const leaf = schema.type === "array" || schema.type === "map" ? schema.items : schema;
  if (leaf?.type === "any" && leaf.format === undefined) return "raw";
  const isFree = leaf?.type === "object" && leaf.ref === undefined;
  return isFree || (leaf?.type === "map" && leaf.items === undefined) ? "raw" : undefined;
}

/** Parses a raw field. Throws ProtobufError. */
export function parseRaw(text: string): unknown {
  try {
    const value = parseExactJson(text);
    if (isRecord(value)) keepText(value, text);
    return value;
  } catch (error) {
    throw new ProtobufError(`embedded JSON: ${error instanceof Error ? error.message : ""}`);
  }
}
