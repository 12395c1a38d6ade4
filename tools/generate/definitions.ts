/**
 * Joins model classes and overlay into one definition per upstream type, in the shape that
 * `src/core/api/schema/schema-types.ts` fixes. Throws when class and overlay do not fit together.
 */
import type { JsonValue } from "../../src/core/api/object.ts";
import type { FieldSchema, ObjectSchema } from "../../src/core/api/schema/schema-types.ts";
import type { Attribute, ModelClass } from "./models.ts";
import type { PackageFacts } from "./overlay/packages.ts";
import {
  allFacts,
  anys,
  listsAtomic,
  listsMap,
  listsSet,
  mapTypes,
  merges,
  quantities,
  strategies,
  typesAtomic,
  words,
  zeroFact,
  zeroFields,
} from "./facts.ts";
import {
  coreMetaKinds,
  registeredGroupVersions,
  scalars,
  universalMetaKinds,
  unions,
  type UnionFacts,
} from "./overlay/kinds.ts";
import { packages } from "./overlay/packages.ts";

export interface Definition {
  readonly schema: ObjectSchema;
  /** `core.v1`. */
  readonly package: PackageFacts;
  readonly type: string;
  readonly description: string;
  /** Absent for a field that points to a definition: the client library drops those. */
  readonly fieldDescriptions: Readonly<Record<string, string>>;
  readonly union?: UnionFacts;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Class name of a type: `V1Pod`, or with the group before it where classes collide. */
export function className(p: PackageFacts, type: string, known: ReadonlySet<string>): string {
  const version = capital(p.version) + type;
  const prefixed = capital(p.path.split(".").at(-2) ?? "") + version;
  const found = [prefixed, version].find((name) => known.has(name));
  if (found === undefined) throw new Error(`no model class for ${p.path}.${type}`);
  return found;
}

/** All definitions, sorted by name. */
export function joinDefinitions(models: ReadonlyMap<string, ModelClass>): readonly Definition[] {
  const known = new Set(models.keys());
  const names = new Map<string, string>();
  for (const p of packages) {
    for (const type of words(p.types)) names.set(className(p, type, known), `${p.path}.${type}`);
  }
  const joined = packages.flatMap((p) =>
    words(p.types).map((type) => {
      const model = models.get(className(p, type, known));
      if (model === undefined) throw new Error(`model of ${p.path}.${type} was not read`);
      return joinDefinition(p, type, model, names);
    }),
  );
  checkEveryFactUsed(joined);
  checkZeroFields(joined);
  const unlisted = [...known].filter((name) => !names.has(name));
  if (unlisted.length > 0) throw new Error(`classes without a package: ${unlisted.join(" ")}`);
  const all = [...joined, ...emptyStructs()];
  return withWritten(all).sort((a, b) => (a.schema.name < b.schema.name ? -1 : 1));
}

function joinDefinition(
  p: PackageFacts,
  type: string,
  model: ModelClass,
  names: ReadonlyMap<string, string>,
): Definition {
  const key = `${p.name}.${type}`;
  const attributes = [...model.attributes].sort((a, b) => (a.name < b.name ? -1 : 1));
  const fields: Record<string, FieldSchema> = {};
  const fieldDescriptions: Record<string, string> = {};
  for (const attribute of attributes) {
    const field = joinField(`${key}.${attribute.name}`, attribute, names);
    const zero = zeroFact(`${p.path}.${type}`, attribute.name);
    fields[attribute.name] = zero === "pointer" ? field : { ...field, zero: zeroWords[zero] };
    if (attribute.description !== "") fieldDescriptions[attribute.name] = attribute.description;
  }
  const kinds = kindsOf(p, type, fields);
  const union = unions[key];
  const schema: ObjectSchema = {
    name: `${p.path}.${type}`,
    fields,
    required: attributes.filter((a) => a.required).map((a) => a.name),
    ...(typesAtomic.has(key) ? { mapType: "atomic" } : {}),
    ...(kinds.length > 0 ? { groupVersionKinds: kinds } : {}),
  };
  return {
    schema,
    package: p,
    type,
    description: model.description,
    fieldDescriptions,
    ...(union === undefined ? {} : { union }),
  };
}

const zeroWords = { omitted: "omitted", written: "written", "written pointer": "null" } as const;

function joinField(
  key: string,
  attribute: Attribute,
  names: ReadonlyMap<string, string>,
): FieldSchema {
  const field: Mutable<FieldSchema> = joinType(key, attribute.type, attribute.format, names);
  const merge = merges.get(key);
  const strategy = strategies.get(key) ?? (merge === undefined ? undefined : "merge");
  if (strategy !== undefined) field.patchStrategy = oneOf(patchStrategyNames, strategy, key);
  if (merge !== undefined) field.patchMergeKey = merge;
  const keys = listsMap.get(key);
  if (listsAtomic.has(key)) field.listType = "atomic";
  if (listsSet.has(key)) field.listType = "set";
  if (keys !== undefined) {
    field.listType = "map";
    field.listMapKeys = keys.split(",");
  }
  const mapType = mapTypes.get(key);
  if (mapType !== undefined) field.mapType = oneOf(mapTypeNames, mapType, key);
  return field;
}

function joinType(
  key: string,
  type: string,
  format: string,
  names: ReadonlyMap<string, string>,
): FieldSchema {
  const element = /^Array<(.*)>$/.exec(type)?.[1];
  if (element !== undefined) {
    return { type: "array", items: joinType(key, element, format, names) };
  }
  const value = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (value !== undefined) return { type: "map", items: joinType(key, value, format, names) };
  const ref = names.get(type);
  if (ref !== undefined) return { type: "object", ref };
  return joinLeaf(key, type, format);
}

function joinLeaf(key: string, type: string, format: string): FieldSchema {
  switch (type) {
    case "string":
      if (quantities.has(key)) return { type: "string", format: "quantity" };
      return format === "byte" ? { type: "string", format } : { type: "string" };
    case "number":
      if (format === "int32" || format === "int64") return { type: "integer", format };
      if (format === "double") return { type: "number", format };
      throw new Error(`${key}: number of unknown format ${format}`);
    case "boolean":
      return { type: "boolean" };
    case "Date":
      return { type: "string", format: "date-time" };
    case "V1MicroTime":
      return { type: "string", format: "micro-time" };
    case "IntOrString":
      return { type: "string", format: "int-or-string" };
    case "any":
      return joinAny(key);
    default:
      throw new Error(`${key}: unknown type ${type}`);
  }
}

function joinAny(key: string): FieldSchema {
  const name = anys.get(key);
  const facts = name === undefined ? undefined : scalars[name];
  // A plain "object" in the swagger: nothing is known of its content.
  if (facts === undefined) throw new Error(`${key}: typed any, and the overlay does not say what`);
  const ref = `${facts.path}.${name}`;
  return { type: facts.shape === "empty" ? "object" : "any", ref };
}

function emptyStructs(): readonly Definition[] {
  const empty = Object.entries(scalars).filter(([, facts]) => facts.shape === "empty");
  return empty.map(([type, facts]) => {
    const owner = packages.find((p) => p.path === facts.path);
    if (owner === undefined) throw new Error(`no package ${facts.path}`);
    return {
      schema: { name: `${facts.path}.${type}`, fields: {}, required: [] },
      package: owner,
      type,
      description: facts.description,
      fieldDescriptions: {},
    };
  });
}

/** With the zeros of the fields that Go never leaves out, structs within structs whole. */
function withWritten(definitions: readonly Definition[]): Definition[] {
  const schemas = new Map(definitions.map(({ schema }) => [schema.name, schema]));
  return definitions.map((definition) => {
    const written = writtenOf(definition.schema, schemas);
    if (Object.keys(written).length === 0) return definition;
    return { ...definition, schema: { ...definition.schema, written } };
  });
}

function writtenOf(
  schema: ObjectSchema | undefined,
  schemas: ReadonlyMap<string, ObjectSchema>,
): Readonly<Record<string, JsonValue>> {
  const written: Record<string, JsonValue> = {};
  for (const [name, field] of Object.entries(schema?.fields ?? {})) {
    if (field.zero !== "written") continue;
    const zero =
      field.type === "object"
        ? writtenOf(schemas.get(field.ref ?? ""), schemas)
        : scalarZero(field);
    if (zero !== null) written[name] = zero;
  }
  return written;
}

/** Null: Go writes lists, maps, times and free JSON as null, which are left out here. */
function scalarZero({ type, format }: FieldSchema): JsonValue {
  switch (type) {
    case "string":
      if (format === "date-time" || format === "micro-time" || format === "byte") return null;
      return format === "quantity" ? "0" : format === "int-or-string" ? 0 : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "array":
    case "map":
    case "any":
    case "object":
      return null;
    default:
      return type satisfies never;
  }
}

function checkZeroFields(definitions: readonly Definition[]): void {
  const fields = new Map(definitions.map(({ schema }) => [schema.name, schema.fields]));
  const lost = zeroFields().flatMap(([definition, names]) => {
    const known = fields.get(definition) ?? {};
    return names
      .filter((name) => !Object.hasOwn(known, name))
      .map((name) => `${definition}.${name}`);
  });
  if (lost.length > 0) throw new Error(`zeros.txt names unknown fields: ${lost.join(" ")}`);
}

type Kinds = NonNullable<ObjectSchema["groupVersionKinds"]>;

function kindsOf(p: PackageFacts, type: string, fields: ObjectSchema["fields"]): Kinds {
  if (p.name === "meta.v1") {
    if (words(universalMetaKinds).includes(type)) return universalKinds(type);
    if (words(coreMetaKinds).includes(type)) return [{ group: "", version: "v1", kind: type }];
    return [];
  }
  const isKind = ["apiVersion", "kind", "metadata"].every((name) => name in fields);
  if (!isKind || p.group === undefined) return [];
  return [{ group: p.group, version: p.version, kind: type }];
}

function universalKinds(kind: string): Kinds {
  return words(registeredGroupVersions).map((text) => {
    const [group = "", version = ""] = text.includes("/") ? text.split("/") : ["", text];
    return { group, version, kind };
  });
}

function checkEveryFactUsed(definitions: readonly Definition[]): void {
  const known = new Set(
    definitions.flatMap((d) =>
      Object.keys(d.schema.fields).map((field) => `${d.package.name}.${d.type}.${field}`),
    ),
  );
  const lost = allFacts.flatMap((facts) => [...facts.keys()].filter((key) => !known.has(key)));
  if (lost.length > 0) throw new Error(`the overlay names unknown fields: ${lost.join(" ")}`);
}

const patchStrategyNames = ["merge", "replace", "retainKeys", "merge,retainKeys"] as const;
const mapTypeNames = ["atomic", "granular"] as const;

function oneOf<T extends string>(names: readonly T[], value: string, key: string): T {
  const found = names.find((name) => name === value);
  if (found === undefined) throw new Error(`${key}: ${value} is none of ${names.join(" ")}`);
  return found;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
