/**
 * Decodes protobuf request bodies: bytes to the JSON object that Go would make of them.
 *
 * The schema gives the type of a field; `numbers.ts` gives its number on the wire and the meaning of its zero
 * in JSON. Unknown numbers are skipped, as protobuf requires.
 * Cost   a plan per definition is made on first use.
 */
import { exactInteger } from "#base/exact-json.ts";
import { objectLimits } from "#api/json/object-limits.ts";
import type { FieldSchema } from "#api/schema/schema-types.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import type { GroupVersionKind } from "#api/object.ts";
import { formatMicroTime, formatTime } from "#api/values/time.ts";
import { ProtobufCursor } from "#wire/protobuf-cursor.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { type LeafForm, type ReadField, type ReadPlan, readPlan } from "./decode-plan.ts";
import type { Span } from "./kept-bytes.ts";
import { type FreeForm, parseRaw } from "./free.ts";

type Bag = Record<string, unknown>;

/** Options for decoding the objects of one reader. */
export interface DecodeOptions {
  /** Maximum fields, and maximum distinct map keys, per object. */
  readonly fieldsMax: number;
  readonly keysMax: number;
  /** Parses the JSON in raw fields (fieldsV1). Throws ProtobufError. */
  readonly parseJson: (text: string) => unknown;
  /** Called for every unknown field. */
  readonly unknownField: (definition: string, number: number) => void;
}

/** Maximum nesting of messages, as in upstream's decoders. */
const depthMax = 100;
const schemaProps = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

const ofBodies: DecodeOptions = {
  fieldsMax: objectLimits.partsMax,
  keysMax: objectLimits.keysMax,
  parseJson: parseRaw,
  unknownField() {},
};

/** Cursor of the current object. Decoding is synchronous, so one is enough. */
const cursor = new ProtobufCursor();
let options = ofBodies;
let fieldsLeft = 0;
let keysLeft = 0;

/** The bytes contain more fields than an object may have values. */
export class TooManyFieldsError extends Error {}

/** Decodes an object of kind `gvk`, without apiVersion and kind; undefined for an unknown kind. */
export function decodeProtobuf(gvk: GroupVersionKind, raw: Uint8Array): Bag | undefined {
  const schema = schemaOfKind(gvk);
  return schema === undefined ? undefined : decodeDefinition(schema.name, raw, {}, ofBodies);
}

/** Decodes a message of a definition `into` an object, which is returned. */
export function decodeDefinition(
  definition: string,
  raw: Uint8Array,
  into: Bag,
  given: DecodeOptions,
): Bag {
  begin(raw, given);
  decodeInto(into, readPlan(definition), raw.length, 0);
  cursor.close();
  return into;
}

/** Decodes one field of the message in a span; undefined when it does not exist. */
export function decodeOneField(
  { field, number }: { readonly field: ReadField; readonly number: number },
  { bytes, start, end }: Span,
  given: DecodeOptions,
): unknown {
  begin(bytes, given);
  cursor.at = start;
  const bag: Bag = {};
  while (nextField(end)) if (cursor.number === number) decodeField(bag, field, 0);
  cursor.close();
  return bag[field.name];
}

function begin(raw: Uint8Array, given: DecodeOptions): void {
  options = given;
  fieldsLeft = given.fieldsMax;
  keysLeft = given.keysMax;
  cursor.open(raw);
}

/** Unknown fields count too, because each takes time. */
function nextField(end: number): boolean {
  if (!cursor.next(end)) return false;
  if (--fieldsLeft < 0) {
    throw new TooManyFieldsError(`the object has more than ${options.fieldsMax} fields`);
  }
  return true;
}

/** Decodes the current field as a message. */
function decodeMessage(plan: ReadPlan, depth: number): Bag {
  if (depth > depthMax) throw new ProtobufError("proto: message nests too deep");
  const bag: Bag = {};
  const { end } = cursor;
  cursor.at = cursor.start;
  decodeInto(bag, plan, end, depth);
  return bag;
}

function decodeInto(bag: Bag, plan: ReadPlan, end: number, depth: number): void {
  const { fields } = plan;
  while (nextField(end)) {
    const { number } = cursor;
    const field = number < fields.length ? fields[number] : undefined;
    if (field === undefined) options.unknownField(plan.definition, number);
    else decodeField(bag, field, depth);
  }
}

function decodeField(bag: Bag, field: ReadField, depth: number): void {
  const { name } = field;
  switch (field.many) {
    case "one": {
      const value = decodeLeaf(field.leaf, depth);
      if (value === undefined || (field.omitsZero && isZero(value))) return;
      bag[name] = value;
      return;
    }
    case "list": {
      const list = bag[name] as unknown[] | undefined; // made here
      const value = decodeLeaf(field.leaf, depth);
      if (list === undefined) bag[name] = [value];
      else list.push(value);
      return;
    }
    case "map":
      return decodeEntry((bag[name] ??= {}) as Bag, field, depth); // made here
    case "embedded": {
      const { end } = cursor;
      cursor.at = cursor.start;
      return field.plan && decodeInto(bag, field.plan, end, depth);
    }
    case "skipped":
      return;
    default:
      return field.many satisfies never;
  }
}

/** Whether `omitempty` omits the value; Go never considers a struct empty. */
function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false || value === null;
}

function decodeEntry(map: Bag, field: ReadField, depth: number): void {
  let key = "";
  let value: unknown;
  const { end } = cursor;
  cursor.at = cursor.start;
  while (nextField(end)) {
    if (cursor.number === 1) key = cursor.text();
    else if (cursor.number === 2) value = decodeLeaf(field.leaf, depth);
  }
  setEntry(map, key, value === undefined ? zeroOf(field) : value);
}

/** Map keys have a limit of their own, because each costs as much as ten fields. */
function setEntry(map: Bag, key: string, value: unknown): void {
  if (!Object.hasOwn(map, key) && --keysLeft < 0) {
    throw new TooManyFieldsError(`the object has more than ${options.keysMax} different keys`);
  }
  // Assigning to `__proto__` would set the prototype and lose the entry.
  if (key !== "__proto__") map[key] = value;
  else
    Object.defineProperty(map, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
}

function zeroOf(field: ReadField): unknown {
  switch (field.zero) {
    case "text":
      return "";
    case "number":
      return 0;
    case "boolean":
      return false;
    case "list":
      return [];
    case "object":
      return {};
    default:
      return field.zero satisfies never;
  }
}

function decodeLeaf(leaf: LeafForm, depth: number): unknown {
  switch (leaf.kind) {
    case "text":
      return decodeText(leaf);
    case "message":
      leaf.plan ??= readPlan(leaf.definition);
      return decodeMessage(leaf.plan, depth + 1);
    case "boolean":
      return !cursor.isZero;
    case "integer":
      return integer();
    case "double":
      return cursor.double();
    case "formatted":
      return decodeFormatted(leaf.format);
    case "free":
      return decodeFree(leaf, depth);
    case "wrapped":
      return leaf.items && decodeWrapped(leaf.items, depth);
    case "untyped":
      return {};
    default:
      return leaf.kind satisfies never;
  }
}

/** Texts up to this length are kept, because the next text of a field is often equal. */
const likelyLengthMax = 64;
const likelyJsonMax = 1024;

function decodeText(leaf: LeafForm): string {
  const text = cursor.text(leaf.last);
  if (text.length <= likelyLengthMax) leaf.last = text;
  return text;
}

function decodeWrapped(items: LeafForm, depth: number): unknown[] {
  const values: unknown[] = [];
  const { end } = cursor;
  cursor.at = cursor.start;
  while (nextField(end)) if (cursor.number === 1) values.push(decodeLeaf(items, depth));
  return values;
}

function decodeFree(leaf: LeafForm, depth: number): unknown {
  if (leaf.free !== "raw") return decodeUnion(leaf.free, depth);
  const text = messageText(1, leaf.last);
  if (text.length <= likelyJsonMax) leaf.last = text;
  return text === "" ? undefined : options.parseJson(text);
}

/** A schema or an alternative: `{1: allows, 2: schema}`, `{1: schema, 2: schemas or texts}`. */
function decodeUnion(form: Exclude<FreeForm, "raw">, depth: number): unknown {
  let result: unknown;
  const many: unknown[] = [];
  const { end } = cursor;
  cursor.at = cursor.start;
  while (nextField(end)) {
    const isFirst = cursor.number === 1;
    if (form === "schemaOrBool" && isFirst) result ??= !cursor.isZero;
    else if (form === "schemaOrBool" || isFirst)
      result = decodeMessage(readPlan(schemaProps), depth + 1);
    else if (form === "schemaOrArray") many.push(decodeMessage(readPlan(schemaProps), depth + 1));
    else many.push(cursor.text());
  }
  return result ?? many;
}

function decodeFormatted(format: NonNullable<FieldSchema["format"]>): unknown {
  switch (format) {
    case "byte":
      return cursor.bytes.toString("base64", cursor.start, cursor.end);
    case "quantity":
      return messageText(1);
    case "int-or-string":
      return intOrString();
    case "date-time":
      return time(formatTime);
    case "micro-time":
      return microTime();
    case "duration":
      return `${Number(messageInteger(1)) / 1e9}s`;
    case "int32":
    case "int64":
    case "double":
      return cursor.text();
    default:
      return format satisfies never;
  }
}

function integer(): number | bigint {
  const value = cursor.integer();
  return typeof value === "number" ? value : exactInteger(value);
}

/** The text in field `number` of the current message. */
function messageText(number: number, likely = ""): string {
  let value = "";
  const { end } = cursor;
  cursor.at = cursor.start;
  while (nextField(end)) if (cursor.number === number) value = cursor.text(likely);
  return value;
}

function messageInteger(number: number): number | bigint {
  let value: number | bigint = 0;
  const { end } = cursor;
  cursor.at = cursor.start;
  while (nextField(end)) if (cursor.number === number) value = cursor.integer();
  return value;
}

/** {type: 0 integer, 1 string; intVal; strVal} */
function intOrString(): number | string {
  let isText = false;
  let value: number | bigint = 0;
  let text = "";
  const { end } = cursor;
  cursor.at = cursor.start;
  while (nextField(end)) {
    if (cursor.number === 1) isText = cursor.integer() === 1;
    else if (cursor.number === 2) value = cursor.integer();
    else if (cursor.number === 3) text = cursor.text();
  }
  return isText ? text : Number(BigInt.asIntN(32, BigInt(value)));
}

/** Go's zero time is encoded as an empty message and is null in JSON. */
function time(format: (ms: number) => string): string | null {
  const isEmpty = cursor.start === cursor.end;
  const seconds = Number(messageInteger(1));
  return isEmpty || seconds <= -62_135_596_800 ? null : format(seconds * 1000);
}

function microTime(): string | null {
  const { start, end } = cursor;
  const nanos = Number(messageInteger(2));
  cursor.start = start;
  cursor.end = end;
  const whole = time(formatMicroTime);
  return whole === null
    ? null
    : whole.replace(/\.\d+Z$/, `.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z`);
}
