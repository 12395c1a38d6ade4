/**
 * What changed of an object since the message before about it, as a JSON merge patch (RFC 7386).
 *
 *   {"object": …}                         the whole of it
 *   {"base": "<resourceVersion>", "patch": …}   `base` is of the message before about this object
 *
 * E1  Applied in order, the messages about an object give what was shown of it, exactly.
 * E2  Whole comes an object that is first in its session, whose state before is not kept (`bytesMax`), whose patch
 *     would be as long, or which no patch can say: nulls, integers beyond 2^53, nesting beyond `depthMax`.
 */
import type { JsonObject, JsonValue } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";

interface Kept {
  readonly resourceVersion: string;
  readonly shown: JsonObject;
  readonly bytes: number;
}

/** Maximum size of the kept states' JSON, per session of a source. */
const bytesMax = 16 * 2 ** 20;
const depthMax = 64;
const encoder = new TextEncoder();
/** Marks a change that no merge patch can express. */
const unsayable = Symbol("unsayable");
const same = Symbol("same");

export class Deltas {
  readonly #bytesMax: number;
  /** By key: the last state written, the least recently changed first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(most = bytesMax) {
    this.#bytesMax = most;
  }

  /** Returns the message for an object's new state; `shown` must not be modified afterwards. */
  encode(key: string, resourceVersion: string, shown: JsonObject): Uint8Array {
    const before = this.#kept.get(key);
    const text = JSON.stringify(shown);
    this.forget(key);
    this.#keep(key, { resourceVersion, shown, bytes: text.length });
    const patch = before === undefined ? unsayable : patchOf(before.shown, shown, 0);
    const delta = JSON.stringify({
      base: before?.resourceVersion,
      patch: patch === same ? {} : patch,
    });
    const isShorter = patch !== unsayable && delta.length < text.length;
    return encoder.encode(isShorter ? delta : `{"object":${text}}`);
  }

  /** Forgets the state of an object, because it was deleted or space is needed. */
  forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return;
      this.forget(oldest);
    }
  }
}

type Patch = JsonValue | typeof unsayable | typeof same;

function patchOf(before: JsonValue, after: JsonValue, depth: number): Patch {
  if (depth > depthMax) return unsayable;
  if (!isObject(before) || !isObject(after)) {
    if (isSame(before, after, depth)) return same;
    return isSayable(after, depth) ? after : unsayable;
  }
  const changes: [string, JsonValue][] = [];
  for (const [field] of fieldsOf(before)) {
    if (fieldOf(after, field) === undefined) changes.push([field, null]);
  }
  for (const [field, value] of fieldsOf(after)) {
    const old = fieldOf(before, field);
    const change = old === undefined ? added(value, depth) : patchOf(old, value, depth + 1);
    if (change === unsayable) return unsayable;
    if (change !== same) changes.push([field, change]);
  }
  // `fromEntries` creates own properties for all names, even `__proto__`.
  return changes.length === 0 ? same : Object.fromEntries(changes);
}

const added = (value: JsonValue, depth: number): Patch =>
  isSayable(value, depth) ? value : unsayable;

function isObject(value: JsonValue): value is JsonObject {
  return isRecord(value);
}

/** Whether a patch can express the value: a null would delete, and JavaScript rounds large whole numbers. */
function isSayable(value: JsonValue, depth: number): boolean {
  if (value === null || depth > depthMax) return false;
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== "object") return true;
  return fieldsOf(value).every(([, one]) => isSayable(one, depth + 1));
}

function isSame(a: JsonValue, b: JsonValue, depth: number): boolean {
  if (typeof a === "number" && !isSayable(a, depth)) return false;
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b) || depth > depthMax) return false;
  const fields = fieldsOf(a);
  if (fields.length !== fieldsOf(b).length) return false;
  return fields.every(([field, one]) => {
    const other = fieldOf(b, field);
    return other !== undefined && isSame(one, other, depth + 1);
  });
}

/** Returns the fields that JSON contains; it omits undefined ones. */
function fieldsOf(value: object): readonly (readonly [string, JsonValue])[] {
  return Object.entries(value as JsonObject).filter(
    (entry): entry is [string, JsonValue] => entry[1] !== undefined,
  );
}

function fieldOf(value: object, field: string): JsonValue | undefined {
  return Object.hasOwn(value, field) ? (value as JsonObject)[field] : undefined;
}
