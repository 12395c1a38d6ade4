/**
 * Decoding: parsed JSON becomes an object of its kind as upstream's typed decoder would make it.
 *
 * In     any JSON value, and the schema of the kind it claims to be.
 * Out    the object without unknown fields, nulls and zeros that Go leaves out, with the zeros that Go never leaves
 *        out, quantities and times in canonical form; the same reference when there was nothing to change.
 * Finds  unknown fields, in the order of the text, by path; or the first value of a wrong type.
 * Cost   one walk; path texts are made only for findings: about half of the time of JSON.parse.
 * Not    here: required fields, enums, ranges. Validation checks those, with its own texts.
 */
import { literalOf } from "#base/exact-json.ts";
import { isRecord } from "#base/is-record.ts";
import { jsonKind } from "../json/json-value.ts";
import type { AnyObject, GroupVersionKind } from "../object.ts";
import type { FieldSchema, ObjectSchema } from "./schema-types.ts";
import { objectLimits } from "../json/object-limits.ts";
import { decodeScalar } from "./decode-scalars.ts";
import { schemaOf } from "./schema.ts";

/** Finds a schema by definition name; custom kinds have their own. */
type SchemaResolver = (name: string) => ObjectSchema | undefined;

type DecodeResult =
  | {
      readonly kind: "ok";
      readonly object: AnyObject;
      /** In the order of the value's keys; at most `findingsMax`. */
      readonly unknownFields: readonly FieldPath[];
    }
  /** `json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container` */
  | { readonly kind: "error"; readonly message: string }
  /** The lists have more elements than `objectLimits` allow. */
  | { readonly kind: "too-many"; readonly message: string };

/** Field names, map keys and list indexes. */
type FieldPath = readonly (string | number)[];

/** Upstream stops counting there too. */
export const findingsMax = 100;

/** Maximum characters of all reported paths; a deep object with long keys would otherwise need megabytes. */
const findingsLengthMax = 64 * 1024;

/** Checks the value against `schema`; `resolve` finds the schemas of its fields. */
export function checkFields(
  value: unknown,
  schema: ObjectSchema,
  resolve: SchemaResolver = schemaOf,
): DecodeResult {
  const walk: Walk = {
    resolve,
    path: [],
    holder: schema,
    keys: [],
    unknown: [],
    structs: [],
    keyedItems: 0,
    listedObjects: 0,
    error: undefined,
    tooMany: undefined,
  };
  const object = isRecord(value)
    ? walkStruct(value, schema, walk)
    : mismatch(walk, value, goTypeName(schema.name), undefined);
  if (walk.tooMany !== undefined) return { kind: "too-many", message: walk.tooMany };
  if (walk.error !== undefined) return { kind: "error", message: walk.error };
  // A struct that was walked without error is a plain object.
  return { kind: "ok", object: object as AnyObject, unknownFields: walk.unknown };
}

/** The 400 for a decode error. */
export function cannotBeHandled(gvk: GroupVersionKind, message: string): string {
  return `${gvk.kind} in version "${gvk.version}" cannot be handled as a ${gvk.kind}: ${message}`;
}

/** Duplicate keys found by a scan of the text (`JsonScan` of the wire room). */
interface DuplicateKeys {
  readonly duplicates: readonly { readonly path: FieldPath; readonly order: number }[];
  ordersOf(paths: readonly FieldPath[]): readonly (number | undefined)[];
}

interface Finding {
  readonly what: "unknown" | "duplicate";
  readonly path: FieldPath;
  readonly order: number;
}

/**
 * Returns unknown and duplicate fields in upstream's words and in the order of the text. A duplicate inside
 * an unknown field is not reported twice.
 */
export function fieldFindings(
  unknownFields: readonly FieldPath[],
  keys: DuplicateKeys | undefined,
): readonly string[] {
  const orders = keys?.ordersOf(unknownFields) ?? [];
  const unknown = unknownFields.map((path, at): Finding => ({
    what: "unknown",
    path,
    order: orders[at] ?? 0,
  }));
  if (keys === undefined) return findingTexts(unknown);
  const lost = new PathTree(unknownFields);
  const duplicates = keys.duplicates
    .filter(({ path }) => !lost.holdsStartOf(path))
    .map(({ path, order }): Finding => ({ what: "duplicate", path, order }));
  return findingTexts([...unknown, ...duplicates].sort((a, b) => a.order - b.order));
}

function findingTexts(findings: readonly Finding[]): readonly string[] {
  const texts = new Set<string>();
  let length = 0;
  for (const { what, path } of findings) {
    if (texts.size >= findingsMax || length > findingsLengthMax) break;
    const text = `${what} field ${JSON.stringify(pathText(path))}`;
    length += text.length;
    texts.add(text);
  }
  return [...texts];
}

interface PathNode {
  isEnd: boolean;
  readonly below: Map<string | number, PathNode>;
}

class PathTree {
  readonly #root: PathNode = { isEnd: false, below: new Map() };

  constructor(paths: readonly FieldPath[]) {
    for (const path of paths) {
      let node = this.#root;
      for (const part of path) {
        const next = node.below.get(part) ?? { isEnd: false, below: new Map() };
        node.below.set(part, next);
        node = next;
      }
      node.isEnd = true;
    }
  }

  holdsStartOf(path: FieldPath): boolean {
    let node: PathNode | undefined = this.#root;
    for (const part of path) {
      node = node.below.get(part);
      if (node === undefined) return false;
      if (node.isEnd) return true;
    }
    return false;
  }
}

/** The 400 of fieldValidation=Strict; each finding alone is the text of a Warning. */
export function strictDecodingMessage(findings: readonly string[]): string {
  return `strict decoding error: ${findings.join(", ")}`;
}

interface Walk {
  readonly resolve: SchemaResolver;
  /** Field names, map keys and list indexes of the current value. */
  readonly path: (string | number)[];
  /** The object or list that contains the current value. */
  holder: object;
  /** Positions of map keys in `path`, which Go's texts do not name. */
  readonly keys: number[];
  readonly unknown: FieldPath[];
  /** Go names of the structs that enclose the current value. */
  readonly structs: string[];
  keyedItems: number;
  listedObjects: number;
  error: string | undefined;
  /** Ends the walk, like an error. */
  tooMany: string | undefined;
}

type JsonRecord = Readonly<Record<string, unknown>>;

function walkStruct(value: JsonRecord, schema: ObjectSchema, walk: Walk): unknown {
  let copy: Record<string, unknown> | undefined;
  walk.structs.push(schema.name);
  for (const key of Object.keys(value)) {
    const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
    const member = value[key];
    walk.path.push(key);
    walk.holder = value;
    const next = field === undefined ? unknownField(walk) : walkField(member, field, walk);
    walk.path.pop();
    if (walk.error !== undefined) break;
    // The copy is built field by field, because deleting a field from a copy is more expensive.
    if (next !== member) copy ??= fieldsBefore(value, key);
    if (copy !== undefined && next !== undefined) copy[key] = next;
  }
  walk.structs.pop();
  if (walk.error !== undefined) return undefined;
  return schema.written === undefined ? (copy ?? value) : fillWritten(value, copy, schema.written);
}

/** Adds the zero values of missing fields to `copy` of `value`, or to a new copy. */
function fillWritten(
  value: JsonRecord,
  copy: Record<string, unknown> | undefined,
  written: JsonRecord,
): JsonRecord {
  let full = copy;
  for (const key in written) {
    if ((full ?? value)[key] === undefined) (full ??= { ...value })[key] = written[key];
  }
  return full ?? value;
}

/** The fields of `value` before `last`. Structs have no field `__proto__`. */
function fieldsBefore(value: JsonRecord, last: string): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (key === last) break;
    // own keys: fields of a schema.
    fields[key] = value[key];
  }
  return fields;
}

function unknownField(walk: Walk): undefined {
  if (walk.unknown.length < findingsMax) walk.unknown.push([...walk.path]);
  return undefined;
}

/** Undefined for values that a Go struct does not keep: null, and a zero that is omitted. */
function walkField(value: unknown, field: FieldSchema, walk: Walk): unknown {
  if (value === null) return field.nullable === true ? value : undefined;
  const next = walkValue(value, field, walk);
  return field.zero === "omitted" && isZero(next) && !isReset(walk) ? undefined : next;
}

/** An empty list of managed fields is kept, because it asks for their reset. */
function isReset({ path }: Walk): boolean {
  return path.length === 2 && path[0] === "metadata" && path[1] === "managedFields";
}

/** Whether the value of a field that is not a struct is Go's zero value. */
function isZero(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return !value;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

function walkValue(value: unknown, field: FieldSchema, walk: Walk): unknown {
  switch (field.type) {
    case "object":
      return walkObject(value, field, walk);
    case "array":
      return Array.isArray(value)
        ? walkArray(value, field, walk)
        : mismatch(walk, value, goType(field), undefined);
    case "map":
      return isRecord(value)
        ? walkMap(value, field, walk)
        : mismatch(walk, value, goType(field), undefined);
    case "any":
      return walkAny(value, field, walk);
    case "string":
    case "integer":
    case "number":
    case "boolean":
      return walkScalar(value, field, walk);
    default:
      return field.type satisfies never;
  }
}

const schemaProps = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const schemaOr: ReadonlySet<string> = new Set([`${schemaProps}OrArray`, `${schemaProps}OrBool`]);

/**
 * Decodes any JSON, or a schema below `items` or `additionalProperties` of a schema. Upstream decodes those by hand:
 * unknown fields are dropped there and not reported.
 */
function walkAny(value: unknown, field: FieldSchema, walk: Walk): unknown {
  if (field.ref === undefined || !schemaOr.has(field.ref) || !isRecord(value)) return value;
  const schema = walk.resolve(schemaProps);
  if (schema === undefined) return value;
  const told = walk.unknown.length;
  const next = walkStruct(value, schema, walk);
  walk.unknown.length = told;
  return next;
}

function walkObject(value: unknown, field: FieldSchema, walk: Walk): unknown {
  if (!isRecord(value)) return mismatch(walk, value, goType(field), undefined);
  const schema = field.ref === undefined ? undefined : walk.resolve(field.ref);
  return schema === undefined || field.preserveUnknownFields === true
    ? value
    : walkStruct(value, schema, walk);
}

function walkArray(value: readonly unknown[], field: FieldSchema, walk: Walk): unknown {
  const items = field.items;
  if (items === undefined) return value;
  countItems(value.length, field, walk);
  if (walk.error !== undefined) return undefined;
  let copy: unknown[] | undefined;
  for (let index = 0; index < value.length; index++) {
    walk.path.push(index);
    walk.holder = value;
    const next = walkElement(value[index], items, walk);
    walk.path.pop();
    if (walk.error !== undefined) return undefined;
    if (next !== value[index]) (copy ??= [...value])[index] = next;
  }
  return copy ?? value;
}

function countItems(length: number, field: FieldSchema, walk: Walk): void {
  const { keyedItemsMax, listedObjectsMax } = objectLimits;
  if (field.listType === "map" || field.listType === "set") walk.keyedItems += length;
  else if (field.items?.type === "object") walk.listedObjects += length;
  const max = walk.keyedItems > keyedItemsMax ? keyedItemsMax : listedObjectsMax;
  if (walk.keyedItems <= keyedItemsMax && walk.listedObjects <= listedObjectsMax) return;
  walk.tooMany = `more than ${max} elements in lists such as ${fieldNames(walk)}`;
  walk.error = walk.tooMany;
}

function walkMap(value: JsonRecord, field: FieldSchema, walk: Walk): unknown {
  const items = field.items;
  if (items === undefined) return value;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    walk.keys.push(walk.path.push(key) - 1);
    walk.holder = value;
    const next = walkElement(value[key], items, walk);
    walk.path.pop();
    walk.keys.pop();
    if (walk.error !== undefined) return undefined;
    // A spread copies an own `__proto__` as an own field, so assigning to it afterwards stays on the copy.
    if (next !== value[key]) (copy ??= { ...value })[key] = next;
  }
  return copy ?? value;
}

/** A null in a list or map is the zero value of its type; for times that is null again. */
function walkElement(value: unknown, items: FieldSchema, walk: Walk): unknown {
  if (value !== null || items.nullable === true) return walkValue(value, items, walk);
  switch (items.type) {
    case "string":
      if (items.format === "date-time" || items.format === "micro-time") return null;
      return items.format === "quantity" ? "0" : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "object":
      return walkObject({}, items, walk);
    case "map":
      return {};
    case "array":
    case "any":
      return null;
    default:
      return items.type satisfies never;
  }
}

/** The spelling of the current number. */
function literalHere(value: unknown, { holder, path }: Walk): string | undefined {
  return typeof value === "number" ? literalOf(holder, path.at(-1) ?? "") : undefined;
}

function walkScalar(value: unknown, field: FieldSchema, walk: Walk): unknown {
  const decoded = decodeScalar(value, field, literalHere(value, walk));
  switch (decoded.kind) {
    case "ok":
      return decoded.value;
    case "mismatch":
      return mismatch(walk, value, goType(field), decoded.literal);
    case "error":
      walk.error ??= decoded.message;
      return undefined;
    default:
      return decoded satisfies never;
  }
}

/** Go's UnmarshalTypeError: innermost struct, full path without indexes, Go type. */
function mismatch(
  walk: Walk,
  value: unknown,
  type: string,
  literal: string | undefined,
): undefined {
  const struct = walk.structs.at(-1);
  const found = literal === undefined ? jsonKind(value) : `number ${literal}`;
  const target =
    struct === undefined
      ? `Go value of type ${type}`
      : `Go struct field ${shortName(struct)}.${fieldNames(walk)} of type ${type}`;
  walk.error ??= `json: cannot unmarshal ${found} into ${target}`;
  return undefined;
}

function fieldNames({ path, keys }: Walk): string {
  const isField = (part: string | number, at: number): boolean =>
    typeof part === "string" && !keys.includes(at);
  return path.filter(isField).join(".");
}

function pathText(path: FieldPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

function goType(field: FieldSchema): string {
  switch (field.type) {
    case "array":
      return `[]${field.items === undefined ? "interface {}" : goType(field.items)}`;
    case "map":
      return `map[string]${field.items === undefined ? "interface {}" : goType(field.items)}`;
    case "object":
      return field.ref === undefined ? "map[string]interface {}" : goTypeName(field.ref);
    case "integer":
      return field.format === "int32" ? "int32" : "int64";
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    case "string":
      return goStringType(field);
    case "any":
      return "interface {}";
    default:
      return field.type satisfies never;
  }
}

function goStringType(field: FieldSchema): string {
  if (field.format === "byte") return "[]uint8";
  return field.format === "int-or-string" ? "int32" : "string";
}

/** `io.k8s.api.core.v1.PodSpec` -> `v1.PodSpec`. */
function goTypeName(definition: string): string {
  return definition.split(".").slice(-2).join(".");
}

function shortName(definition: string): string {
  return definition.slice(definition.lastIndexOf(".") + 1);
}
