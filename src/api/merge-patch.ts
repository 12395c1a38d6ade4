/**
 * JSON merge patch (RFC 7386) as the Kubernetes API applies it: null deletes, objects merge,
 * everything else replaces. Nulls inside a value that is new are dropped, also within lists.
 */
import { cloneJson, finished, getField, isJsonObject, setField } from "./json-value.ts";
import type { MutableJson, MutableObject } from "./json-value.ts";
import type { JsonObject, JsonValue } from "./object.ts";
import { badRequest } from "./status.ts";

/** The patched copy; `document` is not changed. Throws ApiError 400 when `patch` is no object. */
export function applyMergePatch(document: JsonObject, patch: unknown): JsonValue {
  if (!isJsonObject(patch)) throw badRequest("Invalid JSON Patch");
  return finished(merge(cloneJson(document), cloneJson(patch)));
}

function merge(current: MutableJson, patch: MutableJson): MutableJson {
  if (!isJsonObject(current)) return pruned(patch);
  if (!isJsonObject(patch)) return patch;
  for (const [field, value] of Object.entries(patch)) mergeField(current, field, value);
  return current;
}

function mergeField(current: MutableObject, field: string, value: MutableJson): void {
  if (value === null) {
    delete current[field];
    return;
  }
  const old = getField(current, field);
  setField(current, field, old === undefined || old === null ? pruned(value) : merge(old, value));
}

/** Without the object members that are null; list elements that are null stay. */
function pruned(value: MutableJson): MutableJson {
  if (Array.isArray(value)) return value.map((item) => (item === null ? item : pruned(item)));
  if (!isJsonObject(value)) return value;
  for (const [field, member] of Object.entries(value)) {
    if (member === null) delete value[field];
    else setField(value, field, pruned(member));
  }
  return value;
}
