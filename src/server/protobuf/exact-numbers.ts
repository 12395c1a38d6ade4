/**
 * Objects with integers that no double can hold: such a number keeps its original text, in the form of
 * JSON.rawJSON, so that encoding the object gives exactly the same number.
 *
 * Cost   a look for sixteen digits in a row; only objects that have them are parsed again.
 */
import type { AnyObject } from "#api/object.ts";
import type { CachedObject } from "#watch/cached-object.ts";

/** What JSON.rawJSON makes. */
interface ExactNumber {
  readonly rawJSON: string;
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

// The compiler's library does not know these two yet; the runtime does.
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): ExactNumber;
};

const digitsMin = 16;

export function exactObject(cached: CachedObject): AnyObject {
  const bytes = cached.json;
  if (!hasLongNumber(bytes)) return cached.object;
  const text = new TextDecoder().decode(bytes);
  return json.parse(text, reviveExact) as AnyObject; // the bytes of an object
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return typeof value === "object" && value !== null && "rawJSON" in value;
}

const reviveExact: Reviver = (_key, value, { source }) => {
  if (typeof value !== "number" || source === undefined) return value;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? json.rawJSON(source) : value;
};

function hasLongNumber(bytes: Uint8Array): boolean {
  let run = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    run = byte >= 0x30 && byte <= 0x39 ? run + 1 : 0;
    if (run >= digitsMin) return true;
  }
  return false;
}
