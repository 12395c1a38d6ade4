/**
 * Encodes objects of built-in kinds as protobuf, byte for byte like upstream's own encoder: fields
 * by ascending number, map keys sorted, scalars written even when zero, pointers only when set.
 *
 * Integers beyond 2^53 are given as bigint (`#base/exact-json.ts`) and keep their digits.
 * Cost   one pass from the back into one scratch buffer, one copy; about 6 µs for a Pod of 2.4 KB JSON.
 */
import { spelledJson } from "#api/json/kept-json.ts";
import type { AnyObject, GroupVersionKind } from "#api/object.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import { parseTime } from "#api/values/time.ts";
import { BackWriter } from "#wire/etcd-writer.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import {
  encodePlan,
  type EncodePlan,
  type PlannedField,
  type ValueForm,
  wireType,
} from "./encode-plan.ts";
import { hasNumbers } from "./numbered-fields.ts";

type Bag = Readonly<Record<string, unknown>>;

const empty: Bag = Object.freeze({});
const writer = new BackWriter();
const schemaProps = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/** Whether this kind can be encoded in protobuf: built-in kinds can, Table cannot. */
export function travelsInProtobuf(gvk: GroupVersionKind): boolean {
  const schema = schemaOfKind(gvk);
  return schema !== undefined && hasNumbers(schema.name);
}

/** The message of `object` alone; the caller owns it. apiVersion and kind are in the envelope. */
export function encodeProtobuf(gvk: GroupVersionKind, object: AnyObject): Uint8Array {
  const schema = schemaOfKind(gvk);
  if (schema === undefined || !hasNumbers(schema.name)) {
    throw new ProtobufError(`${gvk.kind} has no protobuf form`);
  }
  return encodeDefinition(schema.name, object);
}

/** The message of a definition, for types that are not kinds. */
export function encodeDefinition(definition: string, value: object): Uint8Array {
  writer.begin();
  writeMessage(encodePlan(definition), value as Bag); // any JSON object is a bag of fields
  return writer.finish(0);
}

function writeMessage(plan: EncodePlan, bag: Bag): void {
  for (let at = 0; at < plan.length; at++) {
    const field = plan[at];
    if (field === undefined) return;
    if (field.many === "embedded") writeEmbedded(field, bag);
    else writeField(field, bag[field.name]);
  }
}

function writeEmbedded(field: PlannedField, bag: Bag): void {
  const before = writer.length;
  writeMessage(field.plan ?? [], bag);
  writeHead(field.tag, before);
}

/** Writes the length and tag of what was written since `before`. */
function writeHead(tag: number, before: number): void {
  writer.varint(writer.length - before);
  writer.varint(tag);
}

function writeField(field: PlannedField, value: unknown): void {
  switch (field.many) {
    case "one":
      return writeTagged(field, field.tag, value ?? undefined);
    case "pointer":
      if (value !== undefined && value !== null) writeTagged(field, field.tag, value);
      return;
    case "list":
      if (!Array.isArray(value)) return;
      for (let at = value.length - 1; at >= 0; at--) writeTagged(field, field.tag, value[at]);
      return;
    case "map":
      return writeMap(field, value);
    case "embedded":
      return;
    default:
      return field.many satisfies never;
  }
}

function writeMap(field: PlannedField, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const map = value as Bag; // the schema says so
  const keys = sortedKeys(map);
  const valueTag = 2 * 8 + wireType(field.form);
  for (let at = keys.length - 1; at >= 0; at--) {
    const key = keys[at] ?? "";
    const before = writer.length;
    writeTagged(field, valueTag, map[key]);
    const keyEnd = writer.length;
    writer.utf8(key);
    writeHead(0x0a, keyEnd);
    writeHead(field.tag, before);
  }
}

/** Go sorts by bytes; UTF-16 order differs only with surrogates. */
function sortedKeys(map: Bag): readonly string[] {
  const keys = Object.keys(map);
  if (keys.length < 2) return keys;
  return keys.some((key) => /[\ud800-\udfff]/.test(key)) ? keys.sort(byUtf8) : keys.sort();
}

function byUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Writes a value with its tag; undefined means Go's zero. */
function writeTagged(field: PlannedField, tag: number, value: unknown): void {
  switch (field.form) {
    case "integer":
      writeInteger(value);
      return writer.varint(tag);
    case "boolean":
      writer.varint(value === true ? 1 : 0);
      return writer.varint(tag);
    case "double":
      writeDouble(value);
      return writer.varint(tag);
    case "bytes":
      // A nil slice is omitted, an empty one is not.
      if (typeof value !== "string") return;
      break;
    default:
  }
  const before = writer.length;
  writeDelimited(field, value);
  writeHead(tag, before);
}

function writeDelimited(field: PlannedField, value: unknown): void {
  switch (field.form) {
    case "string":
      return writeText(value);
    case "bytes":
      return writer.bytes(Buffer.from(typeof value === "string" ? value : "", "base64"));
    case "message":
      field.plan ??= encodePlan(field.ref);
      return writeMessage(field.plan, bagOf(value));
    case "quantity":
      return writeStringField(0x0a, quantityText(value));
    case "int-or-string":
      return writeIntOrString(value);
    case "time":
      return writeTime(value, false);
    case "micro-time":
      return writeTime(value, true);
    case "strings":
      if (Array.isArray(value)) {
        for (let at = value.length - 1; at >= 0; at--) writeStringField(0x0a, value[at]);
      }
      return;
    case "raw":
      return writeRaw(value);
    case "schemaOrBool":
    case "schemaOrArray":
    case "schemaOrStrings":
      return writeUnion(field.form, value);
    case "integer":
    case "boolean":
    case "double":
      throw new TypeError(`${field.form} has no length`);
    default:
      return field.form satisfies never;
  }
}

function bagOf(value: unknown): Bag {
  // The schema guarantees a message.
  return typeof value === "object" && value !== null ? (value as Bag) : empty;
}

/** JSON may contain a quantity as a number; Go's zero is "0". */
function quantityText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : "0";
}

function writeText(value: unknown): void {
  if (typeof value === "string") writer.utf8(value);
}

function writeStringField(tag: number, value: unknown): void {
  const before = writer.length;
  writeText(value);
  writeHead(tag, before);
}

/** int32 and int64: a negative number takes ten bytes. */
function writeInteger(value: unknown): void {
  if (typeof value === "number") {
    if (value >= 0 && value <= 0xffff_ffff) writer.varint(value);
    else writer.bigVarint(BigInt(Math.trunc(value)));
  } else if (typeof value === "bigint") {
    writer.bigVarint(value);
  } else {
    writer.varint(0);
  }
}

function writeDouble(value: unknown): void {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleLE(Number(value ?? 0));
  writer.bytes(bytes);
}

/** {type: 0 integer, 1 string; intVal; strVal}, always all three. */
function writeIntOrString(value: unknown): void {
  const isText = typeof value === "string";
  writeStringField(0x1a, isText ? value : "");
  writeInteger(isText ? 0 : value);
  writer.varint(0x10);
  writer.varint(isText ? 1 : 0);
  writer.varint(0x08);
}

/** {seconds, nanos}; the zero time is an empty message, and only micro times have nanoseconds. */
function writeTime(value: unknown, micro: boolean): void {
  if (typeof value !== "string" || value === "") return;
  const ms = parseTime(value);
  if (ms === undefined) throw new ProtobufError(`${JSON.stringify(value)} is no RFC 3339 time`);
  if (value.startsWith("0001-01-01T00:00:00Z")) return;
  writer.varint(micro ? nanosOf(value) : 0);
  writer.varint(0x10);
  writeInteger(Math.floor(ms / 1000));
  writer.varint(0x08);
}

/** The fraction in the text, truncated to microseconds. */
function nanosOf(text: string): number {
  const [, digits = ""] = /\.([0-9]+)/.exec(text) ?? [];
  return Number(digits.slice(0, 6).padEnd(6, "0")) * 1000;
}

/** A message whose field 1 is JSON text in Go's form; null is a message without the field. */
function writeRaw(value: unknown): void {
  if (value === undefined || value === null) return;
  const before = writer.length;
  writer.utf8(spelledJson(value));
  writeHead(0x0a, before);
}

type Union = Extract<ValueForm, `schemaOr${string}`>;

function writeUnion(form: Union, value: unknown): void {
  if (form === "schemaOrBool") {
    if (typeof value !== "boolean") writeSchema(0x12, value);
    writer.varint(value === false ? 0 : 1);
    writer.varint(0x08);
  } else if (!Array.isArray(value)) {
    writeSchema(0x0a, value);
  } else {
    for (let at = value.length - 1; at >= 0; at--) {
      if (form === "schemaOrArray") writeSchema(0x12, value[at]);
      else writeStringField(0x12, value[at]);
    }
  }
}

function writeSchema(tag: number, value: unknown): void {
  const before = writer.length;
  writeMessage(encodePlan(schemaProps), bagOf(value));
  writeHead(tag, before);
}
