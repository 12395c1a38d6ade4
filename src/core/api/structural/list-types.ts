/**
 * Checks that a set has no value twice, and a keyed list no two items with the same keys. Each value is reported once,
 * at its second place.
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/listtype/validation.go.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldError } from "../status.ts";
import { byText } from "../validation/fields.ts";
import { child, duplicate, index, invalidValue, key } from "../validation/errors.ts";
import type { Structural } from "./structural.ts";

const findingsMax = 1_000;

export function listTypeErrors(object: JsonObject, node: Structural): FieldError[] {
  const out: FieldError[] = [];
  checkObject(out, object, node, "");
  return out;
}

function checkAny(out: FieldError[], value: JsonValue, node: Structural, path: string): void {
  if (!node.hasKeyedLists || typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) checkList(out, value as readonly JsonValue[], node, path);
  else checkObject(out, value as JsonObject, node, path);
}

function checkObject(out: FieldError[], object: JsonObject, node: Structural, path: string): void {
  if (!node.hasKeyedLists) return;
  const { additional } = node;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (typeof value !== "object" || value === null) continue;
    if (typeof additional === "object") checkAny(out, value, additional, key(path, name));
    const property = node.property(name);
    if (property !== undefined) checkAny(out, value, property, child(path, name));
  }
}

function checkList(
  out: FieldError[],
  list: readonly JsonValue[],
  node: Structural,
  path: string,
): void {
  if (node.listType === "set") tellRepeated(out, list, path);
  else if (node.listType === "map") checkMap(out, list, node, path);
  const { items } = node;
  if (items === undefined || !items.hasKeyedLists) return;
  list.forEach((value, at) => {
    checkAny(out, value, items, index(path, at));
  });
}

function checkMap(
  out: FieldError[],
  list: readonly JsonValue[],
  node: Structural,
  path: string,
): void {
  const at = list.findIndex((item) => item !== null && !isRecord(item));
  if (at >= 0) {
    const detail = "must be an object for an array of list-type map";
    out.push(invalidValue(index(path, at), list[at], detail));
    return;
  }
  const names = [...node.listMapKeys].sort(byText);
  const keys = list.map((item): JsonObject => {
    const found: { [name: string]: JsonValue } = {};
    for (const name of names) {
      const value = isRecord(item) ? ownEntry(item as JsonObject, name) : undefined;
      if (value !== undefined) found[name] = value;
    }
    return found;
  });
  tellRepeated(out, keys, path);
}

function tellRepeated(out: FieldError[], values: readonly JsonValue[], path: string): void {
  const times = new Map<string, number>();
  values.forEach((value, at) => {
    const text = semanticText(value);
    const before = times.get(text) ?? 0;
    times.set(text, before + 1);
    if (before === 1 && out.length < findingsMax) out.push(duplicate(index(path, at), value));
  });
}

/** Equal values have equal texts, whatever the order of their fields. */
function semanticText(value: JsonValue | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  if (Array.isArray(value))
    return `[${(value as readonly JsonValue[]).map(semanticText).join(",")}]`;
  const object = value as JsonObject;
  const names = Object.keys(object).sort(byText);
  return `{${names.map((name) => `${JSON.stringify(name)}:${semanticText(object[name])}`).join(",")}}`;
}
