/**
 * How a message of one definition is read: its fields by their numbers, with what their values are.
 * Made once per definition, on first use.
 */
import type { FieldSchema } from "#api/schema/schema-types.ts";
import type { FreeForm } from "./free.ts";
import { type NumberedField, numberedFields } from "./numbered-fields.ts";

type Format = NonNullable<FieldSchema["format"]>;

/** What one value is. One shape for all kinds: the decoder reads one for every field of every object. */
export interface LeafForm {
  /** `wrapped`: a list within a map, which travels as a message whose field 1 is repeated. */
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
  /** Of `formatted`: text in JSON, a number or a message on the wire. */
  readonly format: Format;
  readonly free: FreeForm;
  readonly definition: string;
  readonly items: LeafForm | undefined;
  /** Of `message`, filled in on first use, for definitions may hold themselves. */
  plan: ReadPlan | undefined;
  /** The text of this field that was read last: the next one is often the same. */
  last: string;
}

export interface ReadField {
  readonly name: string;
  /** `embedded`: a struct whose fields stand in the same object. `skipped`: its reader takes it another time. */
  readonly many: "one" | "list" | "map" | "embedded" | "skipped";
  readonly leaf: LeafForm;
  /** What an entry of a map has without a value. */
  readonly zero: "text" | "number" | "boolean" | "list" | "object";
  /** Go leaves a zero out of JSON. */
  readonly omitsZero: boolean;
  readonly plan: ReadPlan | undefined;
}

export interface ReadPlan {
  readonly definition: string;
  /** By number; the numbers of Kubernetes' fields are small. */
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

/** `field`, which is a message, without the field `number` of that message. */
export function withoutField(field: ReadField, number: number): ReadField {
  const { definition, fields } = readPlan(field.leaf.definition);
  const rest = fields.map((each, at) => (each && at === number ? skipped(each) : each));
  return { ...field, leaf: { ...field.leaf, plan: { definition, fields: rest } } };
}

function skipped(field: ReadField): ReadField {
  return { ...field, many: "skipped" };
}

/** Of fields whose paths share the first `depth` numbers. */
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
