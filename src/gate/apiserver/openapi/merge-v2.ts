/**
 * Merges the version 2 documents of other servers into this server's document. Paths are added; definitions are merged
 * by name, and renamed (`_v2`, `_v3` ...) where two differ, as in upstream.
 *
 * Holds  this server's own document does not change; an existing path stays.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { dictionary } from "#base/own.ts";

const prefix = "#/definitions/";
const parameterPrefix = "#/parameters/";
const kindsTag = "x-kubernetes-group-version-kind";

export function mergeV2(own: JsonObject, others: readonly JsonObject[]): JsonObject {
  if (others.length === 0) return own;
  const paths = copied(own["paths"]);
  const definitions = copied(own["definitions"]);
  for (const other of others) mergeOne(paths, definitions, other);
  return { ...own, paths: sortedByName(paths), definitions: sortedByName(definitions) };
}

/**
 * Returns the part of a document below `path`, with the definitions that it refers to. Parameters that its operations
 * share are written out, as in this server's own document. @throws when the value is not a document.
 */
export function partOfV2(document: JsonObject, path: string): JsonObject {
  const paths = dictionary<JsonValue>();
  const shared = copied(document["parameters"]);
  for (const [name, item] of Object.entries(copied(document["paths"]))) {
    if (name.startsWith(path)) paths[name] = withParameters(item, shared);
  }
  const all = copied(document["definitions"]);
  const definitions = dictionary<JsonValue>();
  const wanted = new Set<string>();
  visitReferences(paths, (name) => wanted.add(name));
  // The loop also visits names that are added to the set during the iteration.
  for (const name of wanted) {
    const definition = all[name];
    if (definition === undefined) continue;
    definitions[name] = definition;
    visitReferences(definition, (next) => wanted.add(next));
  }
  return { paths, definitions };
}

/** Writes out the shared parameters in a path item's list and in the lists of its operations. */
function withParameters(item: JsonValue, shared: Readonly<Record<string, JsonValue>>): JsonValue {
  const out = listWrittenOut(copied(item), shared);
  for (const [key, operation] of Object.entries(out)) {
    if (isObject(operation)) out[key] = listWrittenOut({ ...operation }, shared);
  }
  return out;
}

function listWrittenOut<T extends Record<string, JsonValue | undefined>>(
  owner: T,
  shared: Readonly<Record<string, JsonValue>>,
): T {
  const list = owner["parameters"];
  if (!Array.isArray(list)) return owner;
  const parameters = list.map((one: JsonValue) => parameterOf(one, shared));
  return { ...owner, parameters };
}

function parameterOf(value: JsonValue, shared: Readonly<Record<string, JsonValue>>): JsonValue {
  const reference = isObject(value) ? value["$ref"] : undefined;
  if (typeof reference !== "string" || !reference.startsWith(parameterPrefix)) return value;
  const parameter = shared[reference.slice(parameterPrefix.length)];
  if (parameter === undefined) throw new TypeError(`an OpenAPI document lacks ${reference}`);
  return parameter;
}

function isObject(value: JsonValue): value is JsonObject {
  return isRecord(value);
}

function mergeOne(
  paths: Record<string, JsonValue>,
  definitions: Record<string, JsonValue>,
  other: JsonObject,
): void {
  const names = new Map<string, string>();
  const theirs = copied(other["definitions"]);
  for (const [name, definition] of Object.entries(theirs)) {
    names.set(name, freeName(definitions, name, definition));
  }
  for (const [name, definition] of Object.entries(theirs)) {
    const to = names.get(name) ?? name;
    definitions[to] ??= renamed(definition, names);
  }
  for (const [path, item] of Object.entries(copied(other["paths"]))) {
    paths[path] ??= renamed(item, names);
  }
}

/** Returns `name` if it is free or has the same definition; otherwise `name` with a number. */
function freeName(
  definitions: Readonly<Record<string, JsonValue>>,
  name: string,
  definition: JsonValue,
): string {
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name}_v${count}`;
    const there = definitions[candidate];
    if (there === undefined || isSame(there, definition)) return candidate;
  }
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  return jsonEqual(withoutKinds(a), withoutKinds(b));
}

function withoutKinds(value: JsonValue): JsonValue {
  const { [kindsTag]: _kinds, ...rest } = copied(value);
  return rest;
}

function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: JsonValue) => renamed(one, names));
  const out = dictionary<JsonValue>();
  for (const [key, member] of Object.entries(value as JsonObject)) {
    const isReference = key === "$ref" && typeof member === "string" && member.startsWith(prefix);
    const name = isReference ? member.slice(prefix.length) : "";
    out[key] = isReference
      ? prefix + (names.get(name) ?? name)
      : renamed(member as JsonValue, names);
  }
  return out;
}

function visitReferences(value: JsonValue | undefined, visit: (name: string) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === "$ref" && typeof member === "string" && member.startsWith(prefix))
      visit(member.slice(prefix.length));
    else visitReferences(member as JsonValue, visit);
  }
}

/** @throws TypeError when the value is not an object. */
function copied(value: JsonValue | undefined): Record<string, JsonValue> {
  if (value === undefined) return dictionary();
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError("an OpenAPI document has something else where an object belongs");
  return Object.assign(dictionary<JsonValue>(), value);
}

function sortedByName(table: Readonly<Record<string, JsonValue>>): JsonObject {
  const out = dictionary<JsonValue>();
  for (const name of Object.keys(table).sort()) out[name] = table[name] ?? null;
  return out;
}
