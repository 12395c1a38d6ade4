/**
 * A definition's schema as OpenAPI publishes it. Version 3 says all of it; version 2 leaves out what it has
 * no word for, as upstream (controller/openapi/v2/conversion.go), so that older clients are not misled.
 */
import { dictionary } from "#base/own.ts";
import { isJsonObject } from "#api/json-value.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import type { OpenApiVersion } from "#apiserver/openapi/definitions.ts";

/** Members that hold a schema, a list of them, or one by name. */
const single = ["items", "additionalProperties", "not"];
const lists = ["allOf", "anyOf", "oneOf"];
const named = ["properties"];
/** Version 2 has no word for these. */
const dropped: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "not", "nullable"]);

export function publishedSchema(schema: JsonObject, form: OpenApiVersion): JsonObject {
  return form === "v3" ? schema : schemaV2(schema);
}

function schemaV2(schema: JsonObject): JsonObject {
  const out = dictionary<JsonValue | undefined>();
  for (const [field, value] of Object.entries(schema)) {
    if (dropped.has(field)) continue;
    out[field] = memberV2(field, value);
  }
  if (schema["x-kubernetes-int-or-string"] === true) delete out["type"];
  // What may be null has no type that v2 could name.
  if (schema["nullable"] === true) for (const field of typed) delete out[field];
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) delete out["items"];
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) delete out["properties"];
  return { ...out };
}

const typed = ["type", "items", "properties"] as const;

function memberV2(field: string, value: JsonValue | undefined): JsonValue | undefined {
  if (single.includes(field) && isJsonObject(value)) return schemaV2(value as JsonObject);
  if (lists.includes(field) && Array.isArray(value)) return value;
  if (!named.includes(field) || !isJsonObject(value)) return value;
  const out = dictionary<JsonValue | undefined>();
  for (const [name, child] of Object.entries(value)) out[name] = schemaV2(child as JsonObject);
  return { ...out };
}
