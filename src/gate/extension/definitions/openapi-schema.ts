/**
 * Converts a definition's schema to the form that OpenAPI publishes. Version 3 has all of it. As in upstream
 * (controller/openapi/v2/conversion.go, builder.go), version 2 leaves out what it cannot express, so that older clients
 * are not misled.
 */
import { dictionary } from "#base/own.ts";
import { isJsonObject } from "#api/json/json-value.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { reference, type OpenApiVersion } from "#apiserver/openapi/definitions.ts";

type Open = Record<string, JsonValue | undefined>;

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/** Fields that OpenAPI version 2, or an older client of it, does not know. */
const unsaid: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "nullable",
  "default",
]);

export function publishedSchema(schema: JsonObject, form: OpenApiVersion): JsonObject {
  const out = dictionary<JsonValue | undefined>();
  for (const [field, value] of Object.entries(schema)) {
    if (form === "v2" && unsaid.has(field)) continue;
    if (field === "uniqueItems" && value === false) continue;
    out[field] = publishedMember(field, value, form);
  }
  if (schema["x-kubernetes-int-or-string"] === true) sayIntOrString(out, form);
  if (form === "v2") leaveOut(out, schema);
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  // In version 2 kubectl refuses every field that the schema does not list, so an open object lists no field.
  if (isEmbedded && !(form === "v2" && isOpen)) sayEmbedded(out, form);
  return { ...out };
}

function publishedMember(
  field: string,
  value: JsonValue | undefined,
  form: OpenApiVersion,
): JsonValue | undefined {
  if (!isJsonObject(value)) return value;
  if (field === "items" || field === "additionalProperties") {
    return publishedSchema(value as JsonObject, form);
  }
  if (field !== "properties") return value;
  const out = dictionary<JsonValue | undefined>();
  for (const [name, child] of Object.entries(value)) {
    out[name] = publishedSchema(child as JsonObject, form);
  }
  return { ...out };
}

function sayIntOrString(out: Open, form: OpenApiVersion): void {
  if (form === "v3") out["anyOf"] ??= [{ type: "integer" }, { type: "string" }];
}

/** Removes the types that version 2 cannot express: of nullable and of untyped values. */
function leaveOut(out: Open, schema: JsonObject): void {
  const isNullable = schema["nullable"] === true;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (isNullable || isOpen) {
    delete out["items"];
    delete out["properties"];
  }
  const isUntyped = (out["type"] === "array" && out["items"] === undefined) || isOpen;
  if (isNullable || isUntyped) delete out["type"];
  const { required, properties } = schema;
  if (!Array.isArray(required) || !isJsonObject(properties)) return;
  const kept = (required as readonly string[]).filter((name) => !mayBeNull(properties, name));
  if (kept.length === 0) delete out["required"];
  else out["required"] = kept;
}

function mayBeNull(properties: object, name: string): boolean {
  const child = Object.hasOwn(properties, name) ? (properties as JsonObject)[name] : undefined;
  return isJsonObject(child) && child["nullable"] === true;
}

const conventions =
  "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const apiVersion = {
  description: `apiVersion defines the versioned schema of this representation of an object. ${conventions}#resources`,
  type: "string",
};
const kind = {
  description: `kind is a string value representing the type of this object. In CamelCase. ${conventions}#types-kinds`,
  type: "string",
};

function sayEmbedded(out: Open, form: OpenApiVersion): void {
  const given = isJsonObject(out["properties"]) ? out["properties"] : {};
  const ref = reference(objectMeta, form);
  const description = `Standard object's metadata. ${conventions}#metadata`;
  const metadata = form === "v2" ? { description, ...ref } : { allOf: [ref], description };
  out["properties"] = { ...given, apiVersion, kind, metadata };
  const required = Array.isArray(out["required"]) ? (out["required"] as readonly string[]) : [];
  out["required"] = [...new Set([...required, "kind", "apiVersion"])];
}
