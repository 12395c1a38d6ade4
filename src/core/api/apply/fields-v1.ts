/**
 * fieldsV1: a field set as the JSON of metadata.managedFields, and paths as messages print them.
 *
 *   {"f:spec": {"f:replicas": {}}}                 the path .spec.replicas
 *   {"f:ports": {".": {}, "k:{...}": {...}}}       .ports itself and paths below it
 */
import { parseExactJson } from "#base/exact-json.ts";
import { isJsonObject } from "../json/json-value.ts";
import type { MutableObject } from "../json/json-value.ts";
import { below, emptySet, memberOnly, sortedElements } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";

/** Maximum depth of a set; no schema produces deeper ones. */
const depthMax = 200;

/** Undefined for JSON that is not a field set. */
export function parseFieldsV1(json: unknown, depth = 0): FieldSet | undefined {
  if (!isJsonObject(json) || depth > depthMax) return undefined;
  const children = new Map<string, FieldSet>();
  for (const name of Object.keys(json)) {
    if (name === ".") continue;
    const element = parseElement(name);
    const child = parseFieldsV1(json[name], depth + 1);
    if (element === undefined || child === undefined) return undefined;
    children.set(element, child);
  }
  if (children.size > 0) return { isMember: depth > 0 && Object.hasOwn(json, "."), children };
  return depth > 0 ? memberOnly : emptySet;
}

/** Maximum number of keys of a list element; upstream's schemas have at most four. */
const listKeysMax = 6;
/** Maximum characters of an element; longer ones are not parsed. */
const elementMax = 16 * 1024;

/** A single key with a plain value, or a plain value: its text is canonical already. */
const plainElement = /^(k:\{"[A-Za-z]+":("[^"\\]*"|[0-9]+)\}|v:"[^"\\]*")$/;

/** Sorts the keys, so that a list element has exactly one text. */
function parseElement(name: string): string | undefined {
  if (name.startsWith("f:") || plainElement.test(name)) return name;
  try {
    if (name.startsWith("v:")) return valueElement(parseExactJson(name.slice(2)));
    if (name.startsWith("i:")) return /^i:[0-9]+$/.test(name) ? name : undefined;
    const isKey = name.startsWith("k:") && name.length <= elementMax;
    const keys: unknown = isKey ? parseExactJson(name.slice(2)) : undefined;
    const entries = isJsonObject(keys) ? Object.entries(keys) : [];
    return entries.length === 0 || entries.length > listKeysMax ? undefined : keyElement(entries);
  } catch {
    return undefined;
  }
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

export function indexElement(index: number): string {
  return `i:${index}`;
}

export function valueElement(value: unknown): string {
  return `v:${JSON.stringify(value)}`;
}

export function keyElement(keys: readonly (readonly [string, unknown])[]): string {
  const sorted = keys.length < 2 ? keys : keys.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const members = sorted.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `k:{${members.join(",")}}`;
}

/** The inverse of parseFieldsV1, in element order. */
export function formatFieldsV1(set: FieldSet): MutableObject {
  const json: MutableObject = {};
  if (set.isMember && set.children.size > 0) json["."] = {};
  for (const element of sortedElements(set)) json[element] = formatFieldsV1(below(set, element));
  return json;
}

/** `.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]`. */
export function printPath(path: readonly string[]): string {
  return path.map(printElement).join("");
}

function printElement(element: string): string {
  const text = element.slice(2);
  switch (element.charAt(0)) {
    case "f":
      return `.${text}`;
    case "v":
      return `[=${text}]`;
    case "k": {
      const keys = Object.entries(parseExactJson(text) as Record<string, unknown>); // keyElement made it
      return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
    }
    default:
      return `[${text}]`;
  }
}
