/**
 * TypeScript types of custom resources, as text, from the OpenAPI v3 schemas of their definitions.
 *
 * Out    an interface per served version: the stored one is named by its kind, others by kind and version. Beside it
 *        the ResourceRef that clients and informers take.
 * Why this is safe: a definition is foreign text. Names and enum values are written as string literals, the kind and
 *        the version must be identifiers, and descriptions are left out: no part of the text becomes code.
 */
import type { CustomResourceDefinition, JSONSchemaProps } from "#api/gen/types.ts";
import { isRecord } from "#base/is-record.ts";

/** The definition cannot be expressed in types; the message says which part and why. */
export class SchemaTypesError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SchemaTypesError";
  }
}

export function schemaTypes(definitions: readonly CustomResourceDefinition[]): string {
  const written = new Set<string>();
  const parts = definitions.flatMap(({ spec }) =>
    spec.versions
      .filter(({ served }) => served)
      .map(({ name, storage, schema }) => {
        const typeName = spec.names.kind + (storage ? "" : capital(name));
        if (!/^[A-Za-z]\w*$/.test(typeName)) {
          throw new SchemaTypesError(
            `kind and version are no identifier: ${JSON.stringify(typeName)}`,
          );
        }
        if (written.has(typeName)) {
          throw new SchemaTypesError(`two definitions of ${typeName}: write them to two files`);
        }
        written.add(typeName);
        const ref = { group: spec.group, version: name, resource: spec.names.plural };
        const reference = small(typeName) + "Ref";
        return `
export const ${reference} = ${JSON.stringify(ref)} as const;

export interface ${typeName} extends KubeObject ${fieldsOf(schema?.openAPIV3Schema ?? {}, topFields)}
`;
      }),
  );
  return `import type { KubeObject } from "pilothouse/client/object";\n${parts.join("")}`;
}

/** Fields that KubeObject already has. */
const topFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);
const none: ReadonlySet<string> = new Set();

function fieldsOf(schema: JSONSchemaProps, without: ReadonlySet<string>): string {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {})
    .filter(([name]) => !without.has(name))
    .map(([name, field]) => {
      const mark = required.has(name) ? "" : "?";
      return `readonly ${JSON.stringify(name)}${mark}: ${typeOf(field)};`;
    });
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) {
    fields.push("readonly [field: string]: unknown;");
  }
  return `{ ${fields.join(" ")} }`;
}

function typeOf(schema: JSONSchemaProps): string {
  const type = bareTypeOf(schema);
  return schema.nullable === true ? `${type} | null` : type;
}

function bareTypeOf(schema: JSONSchemaProps): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "number | string";
  if (schema.enum !== undefined && schema.enum.length > 0) {
    return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  }
  switch (schema.type) {
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "integer":
    case "number":
      return "number";
    case "array":
      return isSchema(schema.items) ? `readonly (${typeOf(schema.items)})[]` : "readonly unknown[]";
    case "object":
      return objectOf(schema);
    default:
      return "unknown";
  }
}

function objectOf(schema: JSONSchemaProps): string {
  if (schema["x-kubernetes-embedded-resource"] === true) return "KubeObject";
  if (schema.properties !== undefined) return fieldsOf(schema, none);
  const { additionalProperties } = schema;
  const value = isSchema(additionalProperties) ? typeOf(additionalProperties) : "unknown";
  return `{ readonly [key: string]: ${value} }`;
}

/** Lists of schemas and booleans do not occur, because definitions are structural. */
function isSchema(value: unknown): value is JSONSchemaProps {
  return isRecord(value);
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function small(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
