/** JSON as values of expressions: by a schema, or as it is. Parts are converted when they are read, once. */
import { spendEffort } from "./effort.ts";
import { FunctionError } from "./libraries/limits.ts";
import { ListValue, type MapEntries, MapValue, type Value } from "./libraries/values.ts";
import { ObjectValue } from "./object-value.ts";
import { dynNode, type SchemaNode } from "./schema-types.ts";
import { toDuration, toTimestamp } from "./standard/arithmetic.ts";
import { parseDuration, parseTimestamp } from "./standard/time-text.ts";

type JsonFields = Readonly<Record<string, unknown>>;

/** Without a schema: integers are int, other numbers double, objects maps. */
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
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

class JsonList extends ListValue {
  readonly #json: readonly unknown[];
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
}

function listValueOf(json: readonly unknown[], node: SchemaNode): ListValue {
  return new JsonList(json, node.element ?? dynNode);
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
  readonly #json: JsonFields;
  readonly #node: SchemaNode;
  readonly #converted = new Map<string, Value>();

  constructor(json: JsonFields, node: SchemaNode) {
    super(node.type.name);
    this.#json = json;
    this.#node = node;
  }

  field(name: string): Value | undefined {
    const known = this.#converted.get(name);
    if (known !== undefined) return known;
    const field = this.#node.fields.get(name);
    if (field === undefined || !Object.hasOwn(this.#json, field.name)) return undefined;
    const value = jsonValue(this.#json[field.name], field.node);
    this.#converted.set(name, value);
    return value;
  }

  has(name: string): boolean {
    const field = this.#node.fields.get(name);
    return field !== undefined && Object.hasOwn(this.#json, field.name);
  }

  names(): readonly string[] {
    return [...this.#node.fields.keys()].filter((name) => this.has(name));
  }
}
