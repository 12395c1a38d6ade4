/**
 * Types and values of JSON that a schema describes: `self` of a rule, `request` of a policy.
 *
 * In     OpenAPI schemas as structural schemas write them (x-kubernetes-* included), or plain data without one.
 * Holds  a value is converted when it is read, part by part, and once: nothing is copied before.
 * Absent fields whose schema gives no type: an expression cannot name them, as upstream.
 * Source: k8s.io/apiserver pkg/cel/common (schemas.go, values.go) and pkg/cel/escaping.go, 1.36.
 */
import { spendEffort } from "./effort.ts";
import { types } from "./libraries/library.ts";
import { dynType, objectType, type Type } from "./type.ts";
import { escapeName, findField } from "./field-names.ts";
import type { ObjectDeclaration, TypeProvider } from "./declarations.ts";

/** The part of a schema that expressions need. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
}

type Form =
  | "object"
  | "list"
  | "map"
  | "timestamp"
  | "date"
  | "duration"
  | "bytes"
  | "string"
  | "bool"
  | "int"
  | "double"
  | "int-or-string"
  | "dyn";

/** A schema in the form used for expressions. */
export interface SchemaNode {
  readonly form: Form;
  readonly type: Type;
  readonly isNullable: boolean;
  /** Maximum characters, bytes, elements or entries in a request. */
  readonly maxSize: number;
  /** Minimum bytes of JSON. */
  readonly minBytes: number;
  /** For objects: by the name used in expressions. */
  readonly fields: ReadonlyMap<string, SchemaField>;
  /** For lists and maps. */
  readonly element: SchemaNode | undefined;
  readonly listType: string;
  readonly listKeys: readonly string[];
}

export interface SchemaField {
  /** The name in JSON. */
  readonly name: string;
  readonly node: SchemaNode;
}

/** Maximum size of a request, which limits sizes that the schema does not. */
const requestBytes = 3 * 1024 * 1024;
const noFields: ReadonlyMap<string, SchemaField> = new Map();

const anything: Omit<SchemaNode, "form" | "type" | "minBytes" | "maxSize"> = {
  isNullable: true,
  fields: noFields,
  element: undefined,
  listType: "",
  listKeys: [],
};

export const dynNode: SchemaNode = {
  ...anything,
  form: "dyn",
  type: dynType,
  minBytes: 1,
  maxSize: requestBytes - 2,
};

/** Creating a node with its type takes about 1 us. */
const effortPerNode = 5;

/** @returns undefined: the value is not visible to expressions. */
export function schemaNode(
  schema: Schema,
  name: string,
  isResource = false,
): SchemaNode | undefined {
  spendEffort(effortPerNode);
  if (schema["x-kubernetes-int-or-string"] === true) {
    return { ...dynNode, form: "int-or-string", maxSize: lengthOf(schema) ?? dynNode.maxSize };
  }
  const whole = isResource ? withResourceFields(schema) : schema;
  switch (whole.type) {
    case "array":
      return listNode(whole, name);
    case "object":
      return typeof whole.additionalProperties === "object"
        ? mapNode(whole, name)
        : objectNode(whole, name);
    case "string":
      return textNode(whole);
    case "boolean":
      return scalar(whole, "bool", types.bool, 4);
    case "number":
      return scalar(whole, "double", types.double, 1);
    case "integer":
      return scalar(whole, "int", types.int, 1);
    default:
      return undefined;
  }
}

/** Rules at the root, and of embedded resources, can read type and name. */
function withResourceFields(schema: Schema): Schema {
  const text: Schema = { type: "string" };
  const metadata: Schema = {
    type: "object",
    properties: { name: text, generateName: text },
  };
  const properties = { ...schema.properties, apiVersion: text, kind: text, metadata };
  return { ...schema, type: "object", properties };
}

function scalar({ nullable }: Schema, form: Form, type: Type, minBytes: number): SchemaNode {
  return { ...anything, form, type, isNullable: nullable === true, minBytes, maxSize: 1 };
}

function listNode(schema: Schema, name: string): SchemaNode | undefined {
  const element = schema.items === undefined ? undefined : childNode(schema.items, `${name}.@idx`);
  if (element === undefined) return undefined;
  const type = { name: "list", isParameter: false, parameters: [element.type] };
  return {
    ...anything,
    form: "list",
    type,
    isNullable: schema.nullable === true,
    element,
    minBytes: 2,
    maxSize: schema.maxItems ?? Math.floor((requestBytes - 2) / (element.minBytes + 1)),
    listType: schema["x-kubernetes-list-type"] ?? "",
    listKeys: schema["x-kubernetes-list-map-keys"] ?? [],
  };
}

function mapNode(schema: Schema, name: string): SchemaNode | undefined {
  const { additionalProperties: values } = schema;
  const element = typeof values === "object" ? childNode(values, `${name}.@elem`) : undefined;
  if (element === undefined) return undefined;
  const type = { name: "map", isParameter: false, parameters: [types.string, element.type] };
  return {
    ...anything,
    form: "map",
    type,
    isNullable: schema.nullable === true,
    element,
    minBytes: 2,
    // In addition to the value: a key, quotes, colon and comma.
    maxSize: schema.maxProperties ?? Math.floor((requestBytes - 2) / (element.minBytes + 6)),
  };
}

function childNode(schema: Schema, name: string): SchemaNode | undefined {
  return schemaNode(schema, name, schema["x-kubernetes-embedded-resource"] === true);
}

function objectNode(schema: Schema, name: string): SchemaNode {
  const fields = new Map<string, SchemaField>();
  const required = new Set(schema.required);
  let minBytes = 2;
  for (const [field, child] of Object.entries(schema.properties ?? {})) {
    const node = childNode(child, `${name}.${field}`);
    const escaped = escapeName(field);
    if (node === undefined || escaped === undefined) continue;
    fields.set(escaped, { name: field, node });
    // A field with a default may be omitted in requests.
    const isSent = required.has(field) && (child.default === undefined || child.default === null);
    if (isSent) minBytes += utf8Length(field) + 4 + node.minBytes;
  }
  return {
    ...anything,
    form: "object",
    type: objectType(name),
    isNullable: schema.nullable === true,
    fields,
    minBytes,
    maxSize: 1,
  };
}

/** Bytes of JSON for texts of each format. Source: pkg/cel/limits.go. */
const dateLength = 12;
const dateTimeLength = 32;
const dateTimeLeast = 21;
const durationLength = 32;
const durationLeast = 3;

/** As upstream, a character counts 4 bytes for strings, but not for bytes. */
function lengthOf({ maxLength }: Schema): number | undefined {
  return maxLength === undefined ? undefined : Math.max(0, maxLength) * 4;
}

const encoder = new TextEncoder();

function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

function textNode(schema: Schema): SchemaNode {
  const base = { ...anything, isNullable: schema.nullable === true, minBytes: 2 };
  const longest = requestBytes - 2;
  switch (schema.format) {
    case "byte":
      return { ...base, form: "bytes", type: types.bytes, maxSize: schema.maxLength ?? longest };
    case "duration": {
      const sizes = { minBytes: durationLeast, maxSize: durationLength };
      return { ...base, form: "duration", type: types.duration, ...sizes };
    }
    case "date": {
      const sizes = { minBytes: dateLength, maxSize: dateLength };
      return { ...base, form: "date", type: types.timestamp, ...sizes };
    }
    case "date-time": {
      const sizes = { minBytes: dateTimeLeast, maxSize: dateTimeLength };
      return { ...base, form: "timestamp", type: types.timestamp, ...sizes };
    }
    default: {
      const maxSize = lengthOf(schema) ?? enumSize(schema) ?? longest;
      return { ...base, form: "string", type: types.string, maxSize };
    }
  }
}

function enumSize({ enum: values }: Schema): number | undefined {
  if (values === undefined || values.length === 0) return undefined;
  return Math.max(...values.map((value) => (typeof value === "string" ? utf8Length(value) : 0)));
}

/** All object types of the given nodes, by name. */
export function schemaTypes(roots: readonly SchemaNode[]): TypeProvider {
  const declared = new Map<string, ObjectDeclaration>();
  const waiting = [...roots];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.element !== undefined) waiting.push(node.element);
    const { fields, type } = node;
    if (node.form !== "object" || declared.has(type.name)) continue;
    declared.set(type.name, { type, field: (name) => findField(fields, name)?.node.type });
    for (const { node: child } of fields.values()) waiting.push(child);
  }
  return { find: (name) => declared.get(name) };
}
