/**
 * Prints schemas and versions as upstream does inside a finding: as its internal structs, whose fields have
 * no JSON names, and which are printed completely.
 */
import { isRecord } from "#base/is-record.ts";
import { dictionary, ownEntry } from "#base/own.ts";
import type { Fields } from "./fields.ts";
import { flag, items, maybe, text } from "./fields.ts";

/** [Go's name, JSON name, value when absent]; in Go's order. `schemas` are printed by `goSchema`. */
const fields: readonly (readonly [string, string, unknown])[] = [
  ["ID", "id", ""],
  ["Schema", "$schema", ""],
  ["Ref", "$ref", null],
  ["Description", "description", ""],
  ["Type", "type", ""],
  ["Nullable", "nullable", false],
  ["Format", "format", ""],
  ["Title", "title", ""],
  ["Default", "default", null],
  ["Maximum", "maximum", null],
  ["ExclusiveMaximum", "exclusiveMaximum", false],
  ["Minimum", "minimum", null],
  ["ExclusiveMinimum", "exclusiveMinimum", false],
  ["MaxLength", "maxLength", null],
  ["MinLength", "minLength", null],
  ["Pattern", "pattern", ""],
  ["MaxItems", "maxItems", null],
  ["MinItems", "minItems", null],
  ["UniqueItems", "uniqueItems", false],
  ["MultipleOf", "multipleOf", null],
  ["Enum", "enum", null],
  ["MaxProperties", "maxProperties", null],
  ["MinProperties", "minProperties", null],
  ["Required", "required", null],
  ["Items", "items", null],
  ["AllOf", "allOf", null],
  ["OneOf", "oneOf", null],
  ["AnyOf", "anyOf", null],
  ["Not", "not", null],
  ["Properties", "properties", null],
  ["AdditionalProperties", "additionalProperties", null],
  ["PatternProperties", "patternProperties", null],
  ["Dependencies", "dependencies", null],
  ["AdditionalItems", "additionalItems", null],
  ["Definitions", "definitions", null],
  ["ExternalDocs", "externalDocs", null],
  ["Example", "example", null],
  ["XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", null],
  ["XEmbeddedResource", "x-kubernetes-embedded-resource", false],
  ["XIntOrString", "x-kubernetes-int-or-string", false],
  ["XListMapKeys", "x-kubernetes-list-map-keys", null],
  ["XListType", "x-kubernetes-list-type", null],
  ["XMapType", "x-kubernetes-map-type", null],
  ["XValidations", "x-kubernetes-validations", null],
];

const lists = new Set(["allOf", "oneOf", "anyOf"]);
const maps = new Set(["properties", "patternProperties", "definitions"]);

/** Each schema is printed with all of its fields, so the number of printed schemas is limited. */
const schemasPrinted = 200;

export function goSchema(schema: Fields): unknown {
  return printSchema(schema, { left: schemasPrinted });
}

interface Budget {
  left: number;
}

function printSchema(schema: Fields, budget: Budget): unknown {
  if (budget.left-- <= 0) return null;
  const out = dictionary<unknown>();
  for (const [name, from, absent] of fields) {
    const value = ownEntry(schema, from);
    const isAbsent = value === undefined || value === null;
    out[name] = isAbsent ? absent : printField(from, value, budget);
  }
  return out;
}

function printField(name: string, value: unknown, budget: Budget): unknown {
  if (lists.has(name) && Array.isArray(value)) {
    return value.map((one) => (isRecord(one) ? printSchema(one, budget) : null));
  }
  if (maps.has(name) && isRecord(value)) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      entries.map(([key, one]) => [key, isRecord(one) ? printSchema(one, budget) : null]),
    );
  }
  if (name === "not" && isRecord(value)) return printSchema(value, budget);
  if (name === "items" && isRecord(value)) {
    return { Schema: printSchema(value, budget), JSONSchemas: null };
  }
  if (name === "additionalProperties" || name === "additionalItems") {
    const schema = isRecord(value) ? printSchema(value, budget) : null;
    return { Allows: value !== false, Schema: schema };
  }
  if (name === "externalDocs" && isRecord(value)) {
    return { Description: text(value, "description"), URL: text(value, "url") };
  }
  return name === "x-kubernetes-validations" && Array.isArray(value) ? value.map(goRule) : value;
}

export function goRule(rule: unknown): unknown {
  const from = isRecord(rule) ? rule : {};
  return {
    Rule: text(from, "rule"),
    Message: text(from, "message"),
    MessageExpression: text(from, "messageExpression"),
    Reason: ownEntry(from, "reason") ?? null,
    FieldPath: text(from, "fieldPath"),
    OptionalOldSelf: ownEntry(from, "optionalOldSelf") ?? null,
  };
}

/** Versions without their common parts, which moved to the definition's level. */
export function goVersions(versions: readonly Fields[]): unknown {
  const budget = { left: schemasPrinted };
  return versions.map((version) => {
    const schema = maybe(version, "schema");
    const open = maybe(schema ?? {}, "openAPIV3Schema");
    return {
      Name: text(version, "name"),
      Served: flag(version, "served"),
      Storage: flag(version, "storage"),
      Deprecated: flag(version, "deprecated"),
      DeprecationWarning: ownEntry(version, "deprecationWarning") ?? null,
      Schema:
        schema === undefined
          ? null
          : { OpenAPIV3Schema: open === undefined ? null : printSchema(open, budget) },
      Subresources: printSubresources(maybe(version, "subresources")),
      AdditionalPrinterColumns: listOrNull(items(version, "additionalPrinterColumns"), printColumn),
      SelectableFields: listOrNull(items(version, "selectableFields"), (field) => ({
        JSONPath: text(field, "jsonPath"),
      })),
    };
  });
}

function listOrNull(list: readonly Fields[], print: (item: Fields) => unknown): unknown {
  return list.length === 0 ? null : list.map(print);
}

function printColumn(column: Fields): unknown {
  return {
    Name: text(column, "name"),
    Type: text(column, "type"),
    Format: text(column, "format"),
    Description: text(column, "description"),
    Priority: ownEntry(column, "priority") ?? 0,
    JSONPath: text(column, "jsonPath"),
  };
}

function printSubresources(subresources: Fields | undefined): unknown {
  if (subresources === undefined) return null;
  const scale = maybe(subresources, "scale");
  return {
    Status: maybe(subresources, "status") === undefined ? null : {},
    Scale:
      scale === undefined
        ? null
        : {
            SpecReplicasPath: text(scale, "specReplicasPath"),
            StatusReplicasPath: text(scale, "statusReplicasPath"),
            LabelSelectorPath: ownEntry(scale, "labelSelectorPath") ?? null,
          },
  };
}
