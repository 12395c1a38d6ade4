/**
 * JSON merge patch (RFC 7386) as the Kubernetes API applies it: null deletes, objects merge,
 * everything else replaces. Nulls inside a new value are dropped, also within lists.
 */
import { copyLiterals } from "#base/exact-json.ts";
import { clonePatch, freezeType, getField, isJsonObject, setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { badRequest } from "../status.ts";

/**
 * Returns the patched copy. `document` is not changed; the copy shares with it what the patch does not name.
 * Throws ApiError 400 when `patch` is no object.
 */
export function applyMergePatch(document: JsonObject, patch: unknown): JsonValue {
  if (!isJsonObject(patch)) throw badRequest("Invalid JSON Patch");
  return freezeType(merge(document as MutableObject, patch));
}

function merge(current: MutableJson, patch: MutableJson): MutableJson {
  if (!isJsonObject(current)) return pruneNulls(patch);
  if (!isJsonObject(patch)) return clonePatch(patch);
  const merged: MutableObject = {};
  for (const [field, old] of Object.entries(current)) {
    const value = getField(patch, field);
    if (value === undefined) setField(merged, field, old);
    else if (value !== null) {
      setField(merged, field, old === null ? pruneNulls(value) : merge(old, value));
    }
  }
  for (const [field, value] of Object.entries(patch)) {
    if (value !== null && !Object.hasOwn(current, field))
      setField(merged, field, pruneNulls(value));
  }
  copyLiterals(patch, merged);
  return merged;
}

/** A copy without null object members; null list elements stay. */
function pruneNulls(value: MutableJson): MutableJson {
  if (Array.isArray(value)) {
    const items = value.map(pruneNulls);
    copyLiterals(value, items);
    return items;
  }
  if (!isJsonObject(value)) return value;
  const kept: MutableObject = {};
  for (const [field, member] of Object.entries(value)) {
    if (member !== null && member !== undefined) setField(kept, field, pruneNulls(member));
  }
  copyLiterals(value, kept);
  return kept;
}
