/**
 * The plan for reading a message of one definition: its fields by their numbers, with the types of their values.
 * Made once per definition, on first use.
 */
import type { FieldSchema } from "#api/schema/schema-types.ts";
import type { FreeForm } from "./free.ts";
import { type NumberedField, numberedFields } from "./numbered-fields.ts";

type Format = NonNullable<FieldSchema["format"]>;

/** The form of a value. One shape for all kinds, because the decoder reads it for every field. */
export interface LeafForm {
  /** `wrapped`: a list within a map, encoded as a message with a repeated field 1. */
  readonly kind:
    | "text"
    | "integer"
    | "double"
    | "boolean"
    | "formatted"
    | "free"
    | "message"
    | "wrapped"
    | "untyped";
  /** For `formatted`: a text in JSON, a number or a message on the wire. */
  readonly format: Format;
  readonly free: FreeForm;
  readonly definition: string;
  readonly items: LeafForm | undefined;
  /** For `message`; set on first use, because definitions may be recursive. */
  plan: ReadPlan | undefined;
  /** The last text read for this field, which is often repeated. */
  last: string;
}

export interface ReadField {
  readonly name: string;
  /** `embedded`: a struct whose fields are in the same object. `skipped`: read separately. */
  readonly many: "one" | "list" | "map" | "embedded" | "skipped";
  readonly leaf: LeafForm;
  /** The value of a map entry without one. */
  readonly zero: "text" | "number" | "boolean" | "list" | "object";
  /** Whether Go omits a zero in JSON. */
  readonly omitsZero: boolean;
  readonly plan: ReadPlan | undefined;
}

export interface ReadPlan {
  readonly definition: string;
  /** By field number, which is always small. */
  readonly fields: readonly (ReadField | undefined)[];
}

const plans = new Map<string, ReadPlan>();

export function readPlan(definition: string): ReadPlan {
  let plan = plans.get(definition);
  if (plan === undefined) {
    plan = planAt(definition, numberedFields(definition), 0);
    plans.set(definition, plan);
  }
  return plan;
}

/** `field`, a message, without field `number` of that message. */
export function withoutField(field: ReadField, number: number): ReadField {
  const { definition, fields } = readPlan(field.leaf.definition);
  const rest = fields.map((each, at) => (each && at === number ? skipped(each) : each));
  return { ...field, leaf: { ...field.leaf, plan: { definition, fields: rest } } };
}

function skipped(field: ReadField): ReadField {
  return { ...field, many: "skipped" };
}

/** The plan of fields whose paths share the first `depth` numbers. */
function planAt(definition: string, numbered: readonly NumberedField[], depth: number): ReadPlan {
  const fields: (ReadField | undefined)[] = [];
  const inner = new Map<number, NumberedField[]>();
  for (const field of numbered) {
    const number = field.path[depth] ?? 0;
    while (fields.length <= number) fields.push(undefined);
    if (field.path.length === depth + 1) fields[number] = readField(field);
    else inner.set(number, [...(inner.get(number) ?? []), field]);
  }
  for (const [number, parts] of inner) {
    fields[number] = embedded(planAt(definition, parts, depth + 1));
  }
  return { definition, fields };
}

function embedded(plan: ReadPlan): ReadField {
  return {
    name: "",
    many: "embedded",
    leaf: leaf("untyped"),
    zero: "object",
    omitsZero: false,
    plan,
  };
}

function readField({ name, schema, free, zero }: NumberedField): ReadField {
  const isMany = schema.type === "array" || schema.type === "map";
  const items = isMany ? (schema.items ?? fallback[schema.type]) : schema;
  return {
    name,
    many: schema.type === "array" ? "list" : schema.type === "map" ? "map" : "one",
    leaf: free === undefined ? leafOf(items) : leaf("free", { free }),
    zero: zeroOf(items),
    omitsZero: zero === "omit",
    plan: undefined,
  };
}

const fallback = { array: { type: "any" }, map: { type: "string" } } as const;

function leafOf(schema: FieldSchema): LeafForm {
  switch (schema.type) {
    case "integer":
      return leaf("integer");
    case "number":
      return leaf("double");
    case "boolean":
      return leaf("boolean");
    case "object":
      return schema.ref === undefined
        ? leaf("untyped")
        : leaf("message", { definition: schema.ref });
    case "array":
      return leaf("wrapped", { items: leafOf(schema.items ?? fallback.map) });
    case "map":
    case "any":
    case "string":
      return schema.format === undefined
        ? leaf("text")
        : leaf("formatted", { format: schema.format });
    default:
      return schema.type satisfies never;
  }
}

function leaf(
  kind: LeafForm["kind"],
  { format = "int32", free = "raw", definition = "", items }: Partial<LeafForm> = {},
): LeafForm {
  return { kind, format, free, definition, items, plan: undefined, last: "" };
}

function zeroOf({ type }: FieldSchema): ReadField["zero"] {
  if (type === "array") return "list";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  return type === "string" ? "text" : "object";
}
