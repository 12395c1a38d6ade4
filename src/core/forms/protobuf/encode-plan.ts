/**
 * The plan for writing a message of one definition: its fields with their tags, highest number first,
 * because messages are written back to front. Made once per definition, on first use.
 */
import type { FieldSchema } from "#api/schema/schema-types.ts";
import type { FreeForm } from "./free.ts";
import { type NumberedField, numberedFields } from "./numbered-fields.ts";

/** The form of a value on the wire. */
export type ValueForm =
  | "string"
  | "bytes"
  | "integer"
  | "double"
  | "boolean"
  | "quantity"
  | "int-or-string"
  | "time"
  | "micro-time"
  | "message"
  /** A list within a map, encoded as a message with a repeated field 1. */
  | "strings"
  | FreeForm;

export interface PlannedField {
  readonly name: string;
  /** Number and wire type, as the varint before a value. */
  readonly tag: number;
  readonly form: ValueForm;
  /** `embedded`: a struct whose fields are in the same JSON object. */
  readonly many: "one" | "pointer" | "list" | "map" | "embedded";
  readonly ref: string;
  /** For messages; set on first use, because definitions may be recursive. */
  plan: EncodePlan | undefined;
}

export type EncodePlan = readonly PlannedField[];

const delimited = 2;
const plans = new Map<string, EncodePlan>();

export function encodePlan(definition: string): EncodePlan {
  const known = plans.get(definition);
  if (known !== undefined) return known;
  const plan = planAt(numberedFields(definition), 0);
  plans.set(definition, plan);
  return plan;
}

/** The plan of fields whose paths share the first `depth` numbers. */
function planAt(fields: readonly NumberedField[], depth: number): EncodePlan {
  const byNumber = new Map<number, NumberedField[]>();
  for (const field of fields) {
    const number = field.path[depth] ?? 0;
    byNumber.set(number, [...(byNumber.get(number) ?? []), field]);
  }
  return [...byNumber]
    .sort(([a], [b]) => b - a)
    .map(([number, group]) => {
      const [only] = group;
      if (only !== undefined && only.path.length === depth + 1) return planned(only, number);
      return embedded(number, planAt(group, depth + 1));
    });
}

function embedded(number: number, plan: EncodePlan): PlannedField {
  const tag = number * 8 + delimited;
  return { name: "", tag, form: "message", many: "embedded", ref: "", plan };
}

function planned({ name, schema, free, zero }: NumberedField, number: number): PlannedField {
  const many =
    schema.type === "array" || schema.type === "map"
      ? manyOf(schema.type)
      : zero === "pointer"
        ? "pointer"
        : "one";
  const leaf = isMany(schema) && !isUnion(free) ? (schema.items ?? { type: "any" }) : schema;
  const form = free ?? formOf(leaf);
  const tag = number * 8 + (many === "map" ? delimited : wireType(form));
  return { name, tag, form, many, ref: leaf.ref ?? "", plan: undefined };
}

function manyOf(type: "array" | "map"): "list" | "map" {
  return type === "array" ? "list" : "map";
}

function isMany(schema: FieldSchema): boolean {
  return schema.type === "array" || schema.type === "map";
}

function isUnion(free: FreeForm | undefined): boolean {
  return free !== undefined && free !== "raw";
}

function formOf(schema: FieldSchema): ValueForm {
  switch (schema.type) {
    case "integer":
      return "integer";
    case "number":
      return "double";
    case "boolean":
      return "boolean";
    case "object":
      return "message";
    case "array":
      return "strings";
    case "map":
    case "any":
    case "string":
      return textForm(schema);
    default:
      return schema.type satisfies never;
  }
}

function textForm({ format }: FieldSchema): ValueForm {
  switch (format) {
    case "byte":
      return "bytes";
    case "date-time":
      return "time";
    case "micro-time":
    case "quantity":
    case "int-or-string":
      return format;
    case undefined:
    case "int32":
    case "int64":
    case "double":
      return "string";
    case "duration":
      throw new TypeError("no field of a built-in kind is a duration");
    default:
      return format satisfies never;
  }
}

/** 0 varint, 1 eight bytes, 2 a length and bytes. */
export function wireType(form: ValueForm): number {
  return form === "integer" || form === "boolean" ? 0 : form === "double" ? 1 : delimited;
}
