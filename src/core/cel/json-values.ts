/** JSON as values of expressions, with or without a schema. Parts are converted once, when they are read. */
import { isRecord } from "#base/is-record.ts";
import { spendEffort } from "./effort.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { FunctionError } from "./libraries/limits.ts";
import {
  equalValues,
  ListValue,
  type MapEntries,
  MapValue,
  OpaqueValue,
  type Value,
} from "./libraries/values.ts";
import { escapeName, findField } from "./field-names.ts";
import { jsonKey, KeyedList, SetList } from "./list-types.ts";
import { ObjectValue } from "./object-value.ts";
import { dynNode, type SchemaField, type SchemaNode } from "./schema-types.ts";
import { toDuration, toTimestamp } from "./standard/arithmetic.ts";
import { parseDuration, parseTimestamp } from "./standard/time-text.ts";

type JsonFields = Readonly<Record<string, unknown>>;

/** Without a schema: integers become int, other numbers double, objects maps. */
export function dynValue(json: unknown): Value {
  return jsonValue(json, dynNode);
}

export function jsonValue(json: unknown, node: SchemaNode): Value {
  if (json === null || json === undefined) return nullOf(node);
  switch (node.form) {
    case "object":
      return isFields(json) ? new JsonObject(json, node) : mismatch(node, json);
    case "map":
      return isFields(json) ? new JsonMap(json, node.element ?? dynNode) : mismatch(node, json);
    case "list":
      return Array.isArray(json) ? listValueOf(json, node) : mismatch(node, json);
    case "dyn":
    case "int-or-string":
      return anyValue(json);
    case "int":
      return integer(json, node);
    case "double":
      return typeof json === "number" || typeof json === "bigint"
        ? Number(json)
        : mismatch(node, json);
    case "bool":
      return typeof json === "boolean" ? json : mismatch(node, json);
    default:
      return typeof json === "string" ? textValue(json, node) : mismatch(node, json);
  }
}

function nullOf({ isNullable }: SchemaNode): Value {
  if (isNullable) return null;
  throw new FunctionError("invalid data, got null for schema with nullable=false");
}

function anyValue(json: unknown): Value {
  if (typeof json === "string" || typeof json === "boolean" || typeof json === "bigint")
    return json;
  if (typeof json === "number") return Number.isInteger(json) ? BigInt(json) : json;
  if (Array.isArray(json)) return new JsonList(json, dynNode);
  return new JsonMap(json as JsonFields, dynNode); // JSON has nothing else
}

function integer(json: unknown, node: SchemaNode): Value {
  if (typeof json === "bigint") return json;
  if (typeof json === "number" && Number.isInteger(json)) return BigInt(json);
  return mismatch(node, json);
}

function textValue(text: string, node: SchemaNode): Value {
  switch (node.form) {
    case "timestamp":
      return timeOf(text, node, text);
    case "date":
      return timeOf(text, node, `${text}T00:00:00Z`);
    case "duration": {
      const nanos = parseDuration(text);
      return nanos === undefined ? mismatch(node, text) : toDuration(nanos);
    }
    case "bytes":
      return bytesOf(text, node);
    default:
      return text;
  }
}

function timeOf(text: string, node: SchemaNode, whole: string): Value {
  const nanos = parseTimestamp(whole);
  return nanos === undefined ? mismatch(node, text) : toTimestamp(nanos);
}

function bytesOf(text: string, node: SchemaNode): Value {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return mismatch(node, text);
  }
}

function mismatch({ form }: SchemaNode, json: unknown): never {
  const given = Array.isArray(json) ? "list" : typeof json;
  throw new FunctionError(`invalid data, expected ${form}, got ${given}`);
}

function isFields(json: unknown): json is JsonFields {
  return isRecord(json);
}

class JsonList extends ListValue {
  readonly #json: readonly unknown[];
  /** Schema of its elements. */
  readonly #node: SchemaNode;
  #converted: readonly Value[] | undefined;

  constructor(json: readonly unknown[], node: SchemaNode) {
    super([]);
    this.#json = json;
    this.#node = node;
  }

  override get items(): readonly Value[] {
    if (this.#converted !== undefined) return this.#converted;
    spendEffort(this.#json.length);
    this.#converted = this.#json.map((item) => jsonValue(item, this.#node));
    return this.#converted;
  }

  override get size(): number {
    return this.#json.length;
  }

  /** As upstream, elements are on the left of the comparison. */
  override contains(item: Value): boolean {
    return this.items.some((one) => equalValues(one, item));
  }
}

function listValueOf(json: readonly unknown[], node: SchemaNode): ListValue {
  const list = new JsonList(json, node.element ?? dynNode);
  if (node.listType === "set") return new SetList(list, () => json.map(jsonKey));
  if (node.listType !== "map") return list;
  // Upstream looks up list keys by their escaped names, so a key such as `a-b` is never found.
  const names = node.listKeys.map((name) => escapeName(name) ?? name);
  const keyOf = (element: unknown): string | undefined => elementKey(element, names);
  return new KeyedList(list, () => json.map(keyOf), keyOf);
}

class JsonMap extends MapValue {
  readonly #json: JsonFields;
  readonly #node: SchemaNode;
  readonly #converted = new Map<string, Value>();

  constructor(json: JsonFields, node: SchemaNode) {
    super([]);
    this.#json = json;
    this.#node = node;
  }

  override get entries(): MapEntries {
    return Object.keys(this.#json).map((key) => [key, this.get(key) as Value] as const); // an own key
  }

  override get size(): number {
    return Object.keys(this.#json).length;
  }

  override get(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    const known = this.#converted.get(key);
    if (known !== undefined) return known;
    const value = jsonValue(this.#json[key], this.#node);
    this.#converted.set(key, value);
    return value;
  }
}

class JsonObject extends ObjectValue {
  readonly json: JsonFields;
  readonly #node: SchemaNode;
  readonly #converted = new Map<string, Value>();

  constructor(json: JsonFields, node: SchemaNode) {
    super(node.type.name);
    this.json = json;
    this.#node = node;
  }

  field(name: string): Value | undefined {
    const known = this.#converted.get(name);
    if (known !== undefined) return known;
    const field = this.#setField(name);
    if (field === undefined) return undefined;
    const value = jsonValue(this.json[field.name], field.node);
    this.#converted.set(name, value);
    return value;
  }

  has(name: string): boolean {
    return this.#setField(name) !== undefined;
  }

  /** A null field counts as absent, unless the schema allows any value. */
  #setField(name: string): SchemaField | undefined {
    const field = findField(this.#node.fields, name);
    if (field === undefined || !Object.hasOwn(this.json, field.name)) return undefined;
    return this.json[field.name] === null && field.node.form !== "dyn" ? undefined : field;
  }

  names(): readonly string[] {
    return [...this.#node.fields.keys()].filter((name) => this.has(name));
  }

  /** Fields unknown to the schema count too: those in both objects must be equal. */
  override equals(other: OpaqueValue): boolean {
    if (!(other instanceof JsonObject)) return super.equals(other);
    const names = Object.keys(this.json);
    if (names.length !== Object.keys(other.json).length) return false;
    const declared = new Map([...this.#node.fields].map(([escaped, { name }]) => [name, escaped]));
    return names.every((name) => {
      const escaped = declared.get(name);
      if (escaped !== undefined) return equalFields(this.field(escaped), other.field(escaped));
      return !Object.hasOwn(other.json, name) || jsonEqual(this.json[name], other.json[name]);
    });
  }
}

function equalFields(a: Value | undefined, b: Value | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalValues(a, b);
}

/** The key of an element given as JSON or as a value; undefined: it is not a JSON object. */
function elementKey(element: unknown, names: readonly string[]): string | undefined {
  const json = element instanceof JsonObject ? element.json : element;
  if (!isFields(json) || json instanceof OpaqueValue) return undefined;
  return names.map((name) => jsonKey(json[name] ?? null)).join("\0");
}
