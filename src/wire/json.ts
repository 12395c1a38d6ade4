/**
 * JSON from outside: parsed by JSON.parse, bounded, with the findings upstream's decoder makes.
 *
 * Holds  a value that is returned nests no deeper than `depthMax`.
 * Cost   one extra pass over the text's structure (about a quarter of JSON.parse), one over the
 *        value's keys when duplicates are asked for; the exact scan only when something is wrong.
 * Integers  JSON numbers here are doubles. A literal beyond 2^53 - 1 comes out rounded, and never as
 *        a safe integer: whoever knows that a field is an int64 refuses it by Number.isSafeInteger.
 *        (CRDs carry such literals in `maximum`, which is a double upstream too.)
 * How this changes  a lossless integer would be a new value type of the object model, not a flag.
 */
import { scanJson, type JsonScan } from "./json-scan.ts";

export interface JsonLimits {
  /** UTF-16 units of text, which is never more than its bytes. */
  readonly bytesMax: number;
  /** Nesting of objects and arrays. Go's own limit is 10,000. */
  readonly depthMax: number;
}

export type JsonResult =
  | {
      readonly kind: "ok";
      readonly value: unknown;
      /** Given when a key stands twice in one object; the value keeps the last. */
      readonly duplicates?: JsonScan;
    }
  | { readonly kind: "error"; readonly message: string };

/** Duplicate keys pass silently, the last one wins: fieldValidation=Ignore. */
export function parseJson(text: string, limits: JsonLimits): JsonResult {
  const shape = measure(text, limits);
  return typeof shape === "string" ? { kind: "error", message: shape } : parse(text);
}

/** Also looks for duplicate keys: fieldValidation=Warn and Strict. */
export function parseJsonNotingDuplicates(text: string, limits: JsonLimits): JsonResult {
  const shape = measure(text, limits);
  if (typeof shape === "string") return { kind: "error", message: shape };
  const result = parse(text);
  if (result.kind === "error" || countKeys(result.value) === shape.colons) return result;
  return { ...result, duplicates: scanJson(text) };
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Invalid UTF-8 becomes U+FFFD, as in Go; a byte order mark stays and is then no JSON. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

function parse(text: string): JsonResult {
  try {
    return { kind: "ok", value: JSON.parse(text) };
  } catch {
    return { kind: "error", message: scanJson(text).error ?? "invalid JSON" };
  }
}

interface Shape {
  /** Colons outside strings: one for each key. */
  readonly colons: number;
}

const quote = 34;
const colon = 58;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** Counts what lies outside strings. A text that is no JSON may be measured wrong, never unboundedly. */
function measure(text: string, limits: JsonLimits): Shape | string {
  if (text.length > limits.bytesMax) return `the text exceeds the limit of ${limits.bytesMax}`;
  let colons = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) at = endOfString(text, at);
    else if (c === colon) colons++;
    else if (c === openBrace || c === openBracket) {
      if (++depth > limits.depthMax) return "exceeded max depth";
    } else if (c === closeBrace || c === closeBracket) depth--;
  }
  return { colons };
}

/** Index of the closing quote; the text's end when there is none. */
function endOfString(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  const members = Object.values(value);
  for (const member of members) count += countKeys(member);
  return count + members.length;
}
