/**
 * Definitions of built-in types in OpenAPI version 2 or 3.
 *
 * The versions differ in three ways: where definitions live, that version 3 wraps a reference with
 * siblings into `allOf`, and that it can say "integer or string".
 */
import { given } from "#base/given.ts";
import { dictionary, ownEntry } from "#base/own.ts";
import type { FieldSchema, ObjectSchema } from "#api/schema/schema-types.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { schemaOf } from "#api/schema/schema.ts";
import { fieldDescription, textOf, type DefinitionText } from "./descriptions.ts";

export type OpenApiVersion = "v2" | "v3";

const prefixes: Readonly<Record<OpenApiVersion, string>> = {
  v2: "#/definitions/",
  v3: "#/components/schemas/",
};

export function reference(definition: string, version: OpenApiVersion): JsonObject {
  return { $ref: prefixes[version] + definition };
}

/** @returns undefined for a name that is not a built-in definition. */
export function builtinDefinition(name: string, version: OpenApiVersion): JsonObject | undefined {
  const text = textOf(name);
  const schema = schemaOf(name);
  if (schema !== undefined) return structDefinition(schema, text, version);
  return text?.shape === undefined ? undefined : scalarDefinition(text, version);
}

function structDefinition(
  schema: ObjectSchema,
  text: DefinitionText | undefined,
  version: OpenApiVersion,
): JsonObject {
  const properties = dictionary<JsonValue>();
  for (const [name, field] of Object.entries(schema.fields)) {
    properties[name] = property(name, field, text, version);
  }
  return {
    ...describeField(text?.description ?? ""),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(schema.required.length > 0 ? { required: schema.required } : {}),
    type: "object",
    ...(schema.groupVersionKinds === undefined
      ? {}
      : { "x-kubernetes-group-version-kind": schema.groupVersionKinds.map((gvk) => ({ ...gvk })) }),
    ...given({ "x-kubernetes-map-type": schema.mapType }),
    ...unionExtension(text),
  };
}

function unionExtension(text: DefinitionText | undefined): JsonObject {
  if (text?.union === undefined) return {};
  const { discriminator, fields } = text.union;
  return {
    "x-kubernetes-unions": [
      {
        ...given({ discriminator }),
        "fields-to-discriminateBy": fields,
      },
    ],
  };
}

function scalarDefinition(text: DefinitionText, version: OpenApiVersion): JsonObject {
  return { ...describeField(text.description), ...scalarShape(text, version) };
}

function scalarShape(text: DefinitionText, version: OpenApiVersion): JsonObject {
  switch (text.shape) {
    case "object":
      return { type: "object" };
    case "date-time":
      return { format: "date-time", type: "string" };
    case "int-or-string":
      return version === "v2"
        ? { format: "int-or-string", type: "string" }
        : { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] };
    case "string": // quantities, which may be written as numbers
      return version === "v2"
        ? { type: "string" }
        : { oneOf: [{ type: "string" }, { type: "number" }] };
    case "any":
    case undefined:
      return {};
    default:
      return text.shape satisfies never;
  }
}

function property(
  name: string,
  field: FieldSchema,
  owner: DefinitionText | undefined,
  version: OpenApiVersion,
): JsonObject {
  const target = targetOf(field);
  const siblings = {
    ...describeField(fieldDescription(owner, name, field, target)),
    ...extensions(field),
  };
  if (target === undefined) return { ...siblings, ...typeOf(field, version) };
  const ref = reference(target, version);
  if (version === "v2") return { ...ref, ...siblings };
  return Object.keys(siblings).length === 0 ? ref : { allOf: [ref], ...siblings };
}

function describeField(description: string): JsonObject {
  return description === "" ? {} : { description };
}

const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

const formatTargets: Readonly<Record<string, string>> = {
  quantity,
  "date-time": `${meta}.Time`,
  "micro-time": `${meta}.MicroTime`,
  "int-or-string": intOrString,
};

/** Name of the definition a field refers to. Undefined: the field's schema is inline. */
function targetOf(field: FieldSchema): string | undefined {
  return (
    field.ref ?? (field.format === undefined ? undefined : ownEntry(formatTargets, field.format))
  );
}

function typeOf(field: FieldSchema, version: OpenApiVersion): JsonObject {
  if (field.type === "array") return { items: itemsOf(field, version), type: "array" };
  if (field.type === "map") {
    return { additionalProperties: itemsOf(field, version), type: "object" };
  }
  if (field.type === "any") return {};
  return { ...given({ format: field.format }), type: field.type };
}

function itemsOf(field: FieldSchema, version: OpenApiVersion): JsonObject {
  if (field.items === undefined) return {};
  const target = targetOf(field.items);
  return target === undefined ? typeOf(field.items, version) : reference(target, version);
}

function extensions(field: FieldSchema): JsonObject {
  const { listMapKeys, listType, mapType, patchMergeKey, patchStrategy } = field;
  return {
    ...given({
      "x-kubernetes-list-map-keys": listMapKeys,
      "x-kubernetes-list-type": listType,
      "x-kubernetes-map-type": mapType,
      "x-kubernetes-patch-merge-key": patchMergeKey,
      "x-kubernetes-patch-strategy": patchStrategy,
    }),
  };
}
