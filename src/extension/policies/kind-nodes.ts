/**
 * The types of served kinds for expressions: published OpenAPI schemas, version 3, with references resolved.
 *
 * Holds  a definition that refers to itself is an object without fields there, as upstream.
 * Source: k8s.io/apiserver pkg/cel/openapi/resolver (PopulateRefs), pkg/cel/openapi/extensions.go, 1.36.
 */
import { isJsonObject } from "#api/json-value.ts";
import type { GroupVersionKind, JsonObject, JsonValue } from "#api/object.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import { builtinDefinition } from "#apiserver/openapi/definitions.ts";
import { dictionary } from "#base/own.ts";
import { type Schema, type SchemaNode, schemaNode } from "#cel/schema-types.ts";

type Definitions = Pick<ResourceCatalog, "definitions">;

export function kindNode(catalog: Definitions, kind: GroupVersionKind): SchemaNode | undefined {
  const found = definitionOf(catalog, kind);
  if (found === undefined) return undefined;
  const schema = populated(found, new Set());
  return schemaNode(schema as unknown as Schema, kind.kind, !hasMeta(schema)); // published: valid
}

function definitionOf(catalog: Definitions, kind: GroupVersionKind): JsonObject | undefined {
  const builtin = schemaOfKind(kind);
  if (builtin !== undefined) return builtinDefinition(builtin.name, "v3");
  const isOwn = (one: GroupVersionKind): boolean =>
    one.group === kind.group && one.version === kind.version && one.kind === kind.kind;
  return catalog.definitions().find(({ kinds }) => kinds.some(isOwn))?.v3;
}

const prefix = "#/components/schemas/";

/** `path`: definitions that this one is part of. */
function populated(schema: JsonObject, path: ReadonlySet<string>): JsonObject {
  const name = referenceOf(schema);
  if (name === undefined) return populatedMembers(schema, path);
  if (path.has(name)) return { type: "object" };
  return populatedMembers(builtinDefinition(name, "v3") ?? {}, new Set([...path, name]));
}

/** A reference with siblings stands in `allOf`. */
function referenceOf(schema: JsonObject): string | undefined {
  const { $ref, allOf } = schema;
  if (typeof $ref === "string") return $ref.slice(prefix.length);
  if (!Array.isArray(allOf)) return undefined;
  return allOf.map((one) => (isJsonObject(one) ? referenceOf(one) : undefined)).find(isText);
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}

function populatedMembers(schema: JsonObject, path: ReadonlySet<string>): JsonObject {
  const out: Record<string, JsonValue | undefined> = { ...schema };
  for (const field of ["items", "additionalProperties"]) {
    const inner = schema[field];
    if (isJsonObject(inner)) out[field] = populated(inner, path);
  }
  if (isJsonObject(schema["properties"])) {
    const properties = dictionary<JsonValue>();
    for (const [name, property] of Object.entries(schema["properties"])) {
      if (isJsonObject(property)) properties[name] = populated(property, path);
    }
    out["properties"] = properties;
  }
  if (schema["format"] === "int-or-string") out["x-kubernetes-int-or-string"] = true;
  return out;
}

/** Whether the schema says type and metadata itself; otherwise expressions see names alone. */
function hasMeta({ properties }: JsonObject): boolean {
  if (!isJsonObject(properties)) return false;
  const metadata = properties["metadata"];
  return isJsonObject(metadata) && isJsonObject(metadata["properties"]);
}
