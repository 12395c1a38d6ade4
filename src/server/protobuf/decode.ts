/**
 * Protobuf request bodies: bytes to the JSON object that Go would make of them.
 *
 * The schema says what a field is, `numbers.ts` under which number it travels and what its zero means
 * in JSON. Unknown numbers are skipped, as protobuf wants it.
 * Cost   a plan per definition is made on first use.
 */
import { exactInteger } from "#base/exact-json.ts";
import { objectLimits } from "#api/object-limits.ts";
import type { FieldSchema } from "#api/schema/schema-types.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import type { GroupVersionKind } from "#api/object.ts";
import { formatMicroTime, formatTime } from "#api/time.ts";
import {
  ProtobufError,
  type ProtobufField,
  readFields as readAnyFields,
  utf8,
} from "#wire/protobuf.ts";
import { type FreeForm, readFree } from "./free.ts";
import { type NumberedField, numberedFields } from "./numbered-fields.ts";

type Bag = Record<string, unknown>;

/** A number leads to a field, or to an embedded struct whose fields stand in the same object. */
type Plan = Map<number, NumberedField | Plan>;

/** How deep messages may nest; upstream's decoders stop at the same. */
const depthMax = 100;

const plans = new Map<string, Plan>();

/** Fields and keys of maps the body under way may still have. One is decoded at a time, without a pause. */
let fieldsLeft = 0;
let keysLeft = 0;

/** The bytes hold more fields than an object may have values. */
export class TooManyFieldsError extends Error {}

/** The object of kind `gvk` that `raw` encodes, without apiVersion and kind; undefined for an unknown kind. */
export function decodeProtobuf(gvk: GroupVersionKind, raw: Uint8Array): Bag | undefined {
  const schema = schemaOfKind(gvk);
  fieldsLeft = objectLimits.partsMax;
  keysLeft = objectLimits.keysMax;
  return schema === undefined ? undefined : decodeMessage(schema.name, raw, 0);
}

/** Unknown fields count, too: each costs time. */
function readFields(message: Uint8Array, visit: (field: ProtobufField) => void): void {
  readAnyFields(message, (field) => {
    if (--fieldsLeft < 0) {
      throw new TooManyFieldsError(`the object has more than ${objectLimits.partsMax} fields`);
    }
    visit(field);
  });
}

function decodeMessage(definition: string, bytes: Uint8Array, depth: number): Bag {
  if (depth > depthMax) throw new ProtobufError("proto: message nests too deep");
  const bag: Bag = {};
  decodeInto(bag, planOf(definition), bytes, depth);
  return bag;
}

function decodeInto(bag: Bag, plan: Plan, bytes: Uint8Array, depth: number): void {
  readFields(bytes, (field) => {
    const target = plan.get(field.number);
    if (target === undefined) return;
    if (target instanceof Map) decodeInto(bag, target, field.bytes, depth);
    else decodeField(bag, target, field, depth);
  });
}

function decodeField(bag: Bag, plan: NumberedField, field: ProtobufField, depth: number): void {
  const { name, schema } = plan;
  if (plan.free !== undefined && schema.type !== "map" && schema.type !== "array") {
    setUnlessUndefined(bag, name, readFree(plan.free, field.bytes, decodeSchemaProps));
  } else if (schema.type === "array") {
    const list = (bag[name] ??= []) as unknown[];
    list.push(decodeValue(schema.items ?? { type: "any" }, plan.free, field, depth));
  } else if (schema.type === "map") {
    const map = (bag[name] ??= {}) as Bag;
    decodeEntry(map, schema.items ?? { type: "string" }, plan.free, field.bytes, depth);
  } else {
    const value = decodeValue(schema, undefined, field, depth);
    if (plan.zero !== "omit" || !isZero(value)) bag[name] = value;
  }
}

function setUnlessUndefined(bag: Bag, name: string, value: unknown): void {
  if (value !== undefined) bag[name] = value;
}

/** What `omitempty` leaves out; a struct is never empty to Go. */
function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false || value === null;
}

function decodeEntry(
  map: Bag,
  items: FieldSchema,
  free: FreeForm | undefined,
  bytes: Uint8Array,
  depth: number,
): void {
  let key = "";
  let value: unknown = items.type === "string" && items.format === undefined ? "" : undefined;
  readFields(bytes, (field) => {
    if (field.number === 1) key = utf8(field.bytes);
    // A map of lists (ExtraValue) wraps each list into a message of its own.
    else if (field.number === 2 && items.type === "array")
      value = decodeWrapped(items, field.bytes, depth);
    else if (field.number === 2) value = decodeValue(items, free, field, depth);
  });
  setEntry(map, key, value === undefined ? zeroOf(items) : value);
}

/** Each key of a map costs ten times a field, so they have a limit of their own. */
function setEntry(map: Bag, key: string, value: unknown): void {
  if (!Object.hasOwn(map, key) && --keysLeft < 0) {
    throw new TooManyFieldsError(`the object has more than ${objectLimits.keysMax} different keys`);
  }
  // An assignment to `__proto__` would set the prototype, and lose the entry.
  if (key !== "__proto__") map[key] = value;
  else
    Object.defineProperty(map, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
}

function zeroOf(items: FieldSchema): unknown {
  if (items.type === "array") return [];
  if (items.type === "integer" || items.type === "number") return 0;
  return items.type === "boolean" ? false : items.type === "string" ? "" : {};
}

function decodeWrapped(list: FieldSchema, bytes: Uint8Array, depth: number): unknown[] {
  const values: unknown[] = [];
  readFields(bytes, (field) => {
    if (field.number === 1)
      values.push(decodeValue(list.items ?? { type: "string" }, undefined, field, depth));
  });
  return values;
}

function decodeValue(
  schema: FieldSchema,
  free: FreeForm | undefined,
  field: ProtobufField,
  depth: number,
): unknown {
  if (free !== undefined) return readFree(free, field.bytes, decodeSchemaProps);
  switch (schema.type) {
    case "integer":
      return integerOf(field);
    case "number":
      return doubleOf(field);
    case "boolean":
      return field.integer !== 0n;
    case "object":
      return schema.ref === undefined ? {} : decodeMessage(schema.ref, field.bytes, depth + 1);
    case "array":
    case "map":
    case "any":
    case "string":
      return decodeText(schema, field);
    default:
      return schema.type satisfies never;
  }
}

function decodeText(schema: FieldSchema, field: ProtobufField): unknown {
  switch (schema.format) {
    case "byte":
      return Buffer.from(field.bytes).toString("base64");
    case "quantity":
      return messageText(field.bytes, 1);
    case "int-or-string":
      return intOrString(field.bytes);
    case "date-time":
      return timeOf(field.bytes, formatTime);
    case "micro-time":
      return microTimeOf(field.bytes);
    case "duration":
      return `${Number(messageInteger(field.bytes, 1)) / 1e9}s`;
    case undefined:
    case "int32":
    case "int64":
    case "double":
      return utf8(field.bytes);
    default:
      return schema.format satisfies never;
  }
}

function integerOf(field: ProtobufField): number | bigint {
  return exactInteger(BigInt.asIntN(64, field.integer));
}

function doubleOf(field: ProtobufField): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, field.integer);
  return view.getFloat64(0);
}

function messageText(bytes: Uint8Array, number: number): string {
  let value = "";
  readFields(bytes, (field) => {
    if (field.number === number) value = utf8(field.bytes);
  });
  return value;
}

function messageInteger(bytes: Uint8Array, number: number): bigint {
  let value = 0n;
  readFields(bytes, (field) => {
    if (field.number === number) value = BigInt.asIntN(64, field.integer);
  });
  return value;
}

function intOrString(bytes: Uint8Array): number | string {
  if (messageInteger(bytes, 1) === 1n) return messageText(bytes, 3);
  return Number(BigInt.asIntN(32, messageInteger(bytes, 2)));
}

/** Go's zero time travels as an empty message and is null in JSON. */
function timeOf(bytes: Uint8Array, format: (ms: number) => string): string | null {
  const seconds = messageInteger(bytes, 1);
  return bytes.length === 0 || seconds <= -62_135_596_800n ? null : format(Number(seconds) * 1000);
}

function microTimeOf(bytes: Uint8Array): string | null {
  const nanos = Number(messageInteger(bytes, 2));
  const whole = timeOf(bytes, formatMicroTime);
  return whole === null
    ? null
    : whole.replace(/\.\d+Z$/, `.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z`);
}

const schemaProps = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

function decodeSchemaProps(bytes: Uint8Array): Bag {
  return decodeMessage(schemaProps, bytes, 1);
}

function planOf(definition: string): Plan {
  let plan = plans.get(definition);
  if (plan === undefined) {
    plan = makePlan(definition);
    plans.set(definition, plan);
  }
  return plan;
}

function makePlan(definition: string): Plan {
  const plan: Plan = new Map();
  for (const field of numberedFields(definition)) planPut(plan, field.path, field);
  return plan;
}

function planPut(plan: Plan, path: readonly number[], field: NumberedField): void {
  const [first = 0, ...rest] = path;
  if (rest.length === 0) return void plan.set(first, field);
  const inner = plan.get(first);
  const next: Plan = inner instanceof Map ? inner : new Map();
  plan.set(first, next);
  planPut(next, rest, field);
}
