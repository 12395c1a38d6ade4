/**
 * Drops the fields that a schema does not know. A value without such fields is returned unchanged.
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go, which changes the object instead.
 */
import { setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { byText } from "../validation/fields.ts";
import type { Structural } from "./structural.ts";

interface Pruned {
  /** The same reference when nothing was dropped. */
  readonly object: JsonObject;
  /** Paths, sorted: `spec.x`, `spec.list[0].y`. The caller words them: `unknown field "spec.x"`. */
  readonly unknownFields: readonly string[];
}

/** Maximum number of reported paths (a decoder reports a hundred); all unknown fields are dropped. */
const pathsMax = 1_000;
const pathCharactersMax = 256 * 1024;

interface Walk {
  readonly path: (string | number)[];
  readonly unknown: string[];
  characters: number;
}

const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** `isResourceRoot`: apiVersion, kind and metadata are left to `coerceMetadata`. */
export function prune(
  object: JsonObject,
  structural: Structural | undefined,
  isResourceRoot: boolean,
): Pruned {
  const walk: Walk = { path: [], unknown: [], characters: 0 };
  const pruned = pruneObject(object, structural, isResourceRoot, walk);
  return { object: pruned, unknownFields: walk.unknown.sort(byText) };
}

/** Prunes a value below the root: a default, or the status of an object. */
export function pruneValue(value: JsonValue, structural: Structural): JsonValue {
  return pruneAny(value, structural, { path: [], unknown: [], characters: 0 });
}

function pruneAny(value: JsonValue, node: Structural | undefined, walk: Walk): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return pruneList(value as readonly JsonValue[], node, walk);
  return pruneObject(value as JsonObject, node, false, walk);
}

/** Within a preserved field, only those parts of a list that the schema specifies are pruned. */
function pruneList(
  list: readonly JsonValue[],
  node: Structural | undefined,
  walk: Walk,
): readonly JsonValue[] {
  const items = node?.items;
  if (items === undefined && node?.preservesUnknownFields === true) return list;
  let copy: JsonValue[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const value = list[at] as JsonValue; // at < length
    walk.path.push(at);
    const next =
      node?.preservesUnknownFields === true
        ? keepUnknown(value, items, walk)
        : pruneAny(value, items, walk);
    walk.path.pop();
    if (next !== value) (copy ??= [...list])[at] = next;
  }
  return copy ?? list;
}

function keepUnknown(value: JsonValue, node: Structural | undefined, walk: Walk): JsonValue {
  if (node === undefined || typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) return pruneFields(value as JsonObject, node, modes.preserve, walk);
  let copy: JsonValue[] | undefined;
  const list = value as readonly JsonValue[];
  for (let at = 0; at < list.length; at++) {
    walk.path.push(at);
    const next = keepUnknown(list[at] as JsonValue, node.items, walk); // at < length
    walk.path.pop();
    if (next !== list[at]) (copy ??= [...list])[at] = next;
  }
  return copy ?? value;
}

const modes = {
  drop: { keepsUnknown: false, isRoot: false },
  dropAtRoot: { keepsUnknown: false, isRoot: true },
  preserve: { keepsUnknown: true, isRoot: false },
  preserveAtRoot: { keepsUnknown: true, isRoot: true },
} as const;

type Mode = (typeof modes)[keyof typeof modes];

function pruneObject(
  object: JsonObject,
  node: Structural | undefined,
  isRoot: boolean,
  walk: Walk,
): JsonObject {
  if (node?.preservesUnknownFields === true) {
    return pruneFields(object, node, isRoot ? modes.preserveAtRoot : modes.preserve, walk);
  }
  return pruneFields(object, node, isRoot ? modes.dropAtRoot : modes.drop, walk);
}

const dropped: unique symbol = Symbol("dropped");

function pruneFields(
  object: JsonObject,
  node: Structural | undefined,
  mode: Mode,
  walk: Walk,
): JsonObject {
  const keepsMeta = mode.isRoot || node?.isEmbeddedResource === true;
  let copy: MutableObject | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const next =
      keepsMeta && metaFields.has(name) ? value : pruneField(name, value, node, mode, walk);
    if (copy === undefined) {
      if (next === value) continue;
      copy = fieldsBefore(object, name);
    }
    if (next !== dropped) setField(copy, name, next as MutableJson); // kept as it is, never changed
  }
  return copy ?? object;
}

function pruneField(
  name: string,
  value: JsonValue,
  node: Structural | undefined,
  mode: Mode,
  walk: Walk,
): JsonValue | typeof dropped {
  const property = node?.property(name);
  const additional = property === undefined ? node?.additional : undefined;
  if (property !== undefined || additional !== undefined) {
    if (typeof value !== "object" || value === null) return value;
    walk.path.push(name);
    const below = property ?? (typeof additional === "object" ? additional : undefined);
    const next = pruneAny(value, below, walk);
    walk.path.pop();
    return next;
  }
  if (mode.keepsUnknown) return value;
  // Unknown metadata fields are not reported for a root that is not a resource.
  if (node === undefined || walk.path.length > 0 || !metaFields.has(name)) record(walk, name);
  return dropped;
}

/** Copies the fields before `last`, because an object from which a field was deleted stays slow. */
function fieldsBefore(object: JsonObject, last: string): MutableObject {
  const copy: MutableObject = {};
  for (const name of Object.keys(object)) {
    if (name === last) break;
    setField(copy, name, object[name] as MutableJson); // kept as it is, never changed
  }
  return copy;
}

function record(walk: Walk, name: string): void {
  if (walk.unknown.length >= pathsMax || walk.characters > pathCharactersMax) return;
  const text = pathText(walk.path, name);
  walk.characters += text.length;
  walk.unknown.push(text);
}

function pathText(path: readonly (string | number)[], name: string): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text === "" ? name : `${text}.${name}`;
}
