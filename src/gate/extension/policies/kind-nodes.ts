/**
 * The types of served kinds for expressions: published OpenAPI schemas, version 3, with references resolved.
 *
 * Holds  as in upstream, a self-reference of a definition becomes an object without fields.
 * Source: k8s.io/apiserver pkg/cel/openapi/resolver (PopulateRefs), pkg/cel/openapi/extensions.go, 1.36.
 */
import { isJsonObject } from "#api/json/json-value.ts";
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
  const find = (name: string): JsonObject | undefined => builtinDefinition(name, "v3");
  return nodeOfSchema(found, kind.kind, find);
}

/** Returns the schema to which `#/components/schemas/NAME` refers. */
type FindSchema = (name: string) => JsonObject | undefined;

/** Maximum number of parts of a schema with resolved references. A Pod has some 5,000. */
const partsMax = 100_000;

/** Returns the type of a schema. Undefined: the schema is too large or invalid. */
export function nodeOfSchema(
  schema: JsonObject,
  kind: string,
  find: FindSchema,
): SchemaNode | undefined {
  try {
    const whole = new Population(find).populated(schema, new Set());
    return schemaNode(whole as unknown as Schema, kind, !hasMeta(whole)); // read as it is published
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function definitionOf(catalog: Definitions, kind: GroupVersionKind): JsonObject | undefined {
  const builtin = schemaOfKind(kind);
  if (builtin !== undefined) return builtinDefinition(builtin.name, "v3");
  const isOwn = (one: GroupVersionKind): boolean =>
    one.group === kind.group && one.version === kind.version && one.kind === kind.kind;
  return catalog.definitions().find(({ kinds }) => kinds.some(isOwn))?.v3;
}

const prefix = "#/components/schemas/";

/** Returns the name to which a schema refers. A reference with siblings is in `allOf`. */
function referenceOf(schema: JsonObject): string | undefined {
  const { $ref, allOf } = schema;
  if (typeof $ref === "string") return $ref.slice(prefix.length);
  if (!Array.isArray(allOf)) return undefined;
  return allOf.map((one) => (isJsonObject(one) ? referenceOf(one) : undefined)).find(isText);
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}

/** Replaces references by the schemas to which they refer. */
class Population {
  readonly #find: FindSchema;
  #left = partsMax;

  constructor(find: FindSchema) {
    this.#find = find;
  }

  /** Resolves the references of a schema. `path`: names of the enclosing definitions. Throws RangeError if there are too many parts. */
  populated(schema: JsonObject, path: ReadonlySet<string>): JsonObject {
    if (this.#left-- <= 0) throw new RangeError("the schema has too many parts");
    const name = referenceOf(schema);
    if (name === undefined) return this.#members(schema, path);
    if (path.has(name)) return { type: "object" };
    return this.#members(this.#find(name) ?? {}, new Set([...path, name]));
  }

  #members(schema: JsonObject, path: ReadonlySet<string>): JsonObject {
    const out: Record<string, JsonValue | undefined> = { ...schema };
    for (const field of ["items", "additionalProperties"]) {
      const inner = schema[field];
      if (isJsonObject(inner)) out[field] = this.populated(inner, path);
    }
    if (isJsonObject(schema["properties"])) {
      const properties = dictionary<JsonValue>();
      for (const [name, property] of Object.entries(schema["properties"])) {
        if (isJsonObject(property)) properties[name] = this.populated(property, path);
      }
      out["properties"] = properties;
    }
    if (schema["format"] === "int-or-string") out["x-kubernetes-int-or-string"] = true;
    return out;
  }
}

/** Returns whether the schema declares the fields of metadata itself. Otherwise expressions see only its name fields. */
function hasMeta({ properties }: JsonObject): boolean {
  if (!isJsonObject(properties)) return false;
  const metadata = properties["metadata"];
  return isJsonObject(metadata) && isJsonObject(metadata["properties"]);
}
