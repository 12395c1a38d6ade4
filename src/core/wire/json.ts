/**
 * JSON from outside: parsed by JSON.parse, bounded, with the findings upstream's decoder makes.
 *
 * Holds  a value that is returned nests no deeper than `depthMax`, and is built of no more parts and
 *        different keys than the limits say: what follows costs time per part, not per byte.
 * Cost   one extra pass over the text's structure (about a quarter of JSON.parse), one over the
 *        value's keys when duplicates are asked for; the exact scan only when something is wrong.
 * Integers  exact to 64 bits (`#base/exact-json.ts`); beyond that a literal is a double, as in Go. What the
 *        literal was is known to `literalOf`: `1.0` is no integer to a typed field.
 */
import { parseNumbers } from "#base/exact-json.ts";
import { scanJson, type JsonScan } from "./json-scan.ts";

export interface JsonLimits {
  /** In UTF-16 units, which are never more than the UTF-8 bytes. */
  readonly bytesMax: number;
  /** Maximum nesting of objects and arrays. Go's own limit is 10,000. */
  readonly depthMax: number;
  /** Maximum commas and opening brackets, about the number of values. Absent: limited by the bytes only. */
  readonly partsMax?: number;
  /** Maximum distinct keys in all objects; each costs about as much as ten values. Absent: unlimited. */
  readonly keysMax?: number;
}

type JsonResult =
  | {
      readonly kind: "ok";
      readonly value: unknown;
      /** Set when an object has a repeated key; the value contains the last one. */
      readonly duplicates?: JsonScan;
      /** A number in the text that exceeds every double: `1e400`. Do not use the value as it is. */
      readonly overflow?: string;
    }
  | { readonly kind: "error"; readonly message: string }
  /** `partsMax` or `keysMax` was exceeded; the rest of the text was not read. */
  | { readonly kind: "too-many"; readonly message: string };

/** Of repeated keys the last one wins silently: fieldValidation=Ignore. */
export function parseJson(given: string, limits: JsonLimits): JsonResult {
  const text = withoutHalves(given);
  const shape = measure(text, limits);
  return "kind" in shape ? shape : parse(text, shape);
}

/** An escaped surrogate with its second half, if it has one; or any other escape. */
const escapesOfHalves =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|[^])/g;
const lengthOfHalf = 6;

/** As in Go, an unpaired surrogate becomes U+FFFD, so that the value is valid text everywhere. */
function withoutHalves(text: string): string {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return text;
  return text.replace(escapesOfHalves, (escape) =>
    escape.length === lengthOfHalf ? "\\ufffd" : escape,
  );
}

/** Also reports repeated keys: fieldValidation=Warn and Strict. */
export function parseJsonNotingDuplicates(given: string, limits: JsonLimits): JsonResult {
  const text = withoutHalves(given);
  const shape = measure(text, limits);
  if ("kind" in shape) return shape;
  const result = parse(text, shape);
  if (result.kind !== "ok" || countKeys(result.value) === shape.colons) return result;
  return { ...result, duplicates: scanJson(text) };
}

/**
 * The same for a text that may be YAML, undefined when it is no JSON, or has a key twice: YAML tells that in other
 * words. The number's value counts, not its spelling: `1.0` is an integer in YAML.
 */
export function tryJson(text: string, limits: JsonLimits): JsonResult | undefined {
  const shape = measure(text, limits);
  if ("kind" in shape) return shape.kind === "error" ? undefined : shape;
  const { hasOddNumbers } = shape;
  const noted = parsed(() => parseNumbers(text, { hasOddNumbers, areLiteralsNoted: false }));
  if (noted === undefined || noted.overflow !== undefined) return undefined;
  const { value } = noted;
  return countKeys(value) === shape.colons ? { kind: "ok", value } : undefined;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** As in Go, invalid UTF-8 becomes U+FFFD; a byte order mark is kept and makes the JSON invalid. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/**
 * What is wrong with bytes that are no JSON, as Go says it: it names the byte that is in the wrong place, not the
 * character that it begins. Undefined: nothing is. The nesting must have been bounded.
 */
export function jsonFault(bytes: Uint8Array): string | undefined {
  return scanJson(Buffer.from(bytes).toString("latin1")).error;
}

function parse(text: string, { hasOddNumbers }: Shape): JsonResult {
  const noted = parsed(() => parseNumbers(text, { hasOddNumbers, areLiteralsNoted: true }));
  if (noted !== undefined) return { kind: "ok", ...noted };
  return { kind: "error", message: scanJson(text).error ?? "invalid JSON" };
}

/** Undefined means that the text is invalid, because JSON has no undefined. */
function parsed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

interface Shape {
  /** Colons outside strings, which equal the number of keys. */
  readonly colons: number;
  /** Whether a number has a dot or an exponent, or is `-0`. */
  readonly hasOddNumbers: boolean;
}

const quote = 34;
const comma = 44;
const minus = 45;
const dot = 46;
const zero = 48;
const nine = 57;
const colon = 58;
const upperE = 69;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const lowerE = 101;
const openBrace = 123;
const closeBrace = 125;

/** Shorter texts cannot exceed a limit of thousands of keys: `"a":1,` has 6 characters. */
const countedKeysLengthMin = 32 * 1024;

/** Matches at the first character of most texts. */
const blank = /^[ \t\r\n]*$/;

/** Measures what is outside strings. An invalid text may be measured wrongly, but in bounded time. */
function measure(text: string, limits: JsonLimits): Shape | Exclude<JsonResult, { kind: "ok" }> {
  if (text.length > limits.bytesMax) {
    return { kind: "error", message: `the text exceeds the limit of ${limits.bytesMax}` };
  }
  if (blank.test(text)) return { kind: "error", message: "unexpected end of JSON input" };
  const partsMax = limits.partsMax ?? text.length;
  const keys = text.length < countedKeysLengthMin ? undefined : keyCount(limits);
  let colons = 0;
  let hasOddNumbers = false;
  let parts = 0;
  let depth = 0;
  let stringFrom = 0;
  let stringTo = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) {
      stringFrom = at;
      at = stringTo = endOfString(text, at);
    } else if (c === colon) {
      colons++;
      if (keys?.passedBy(text.slice(stringFrom, stringTo)) === true) return keys.refusal;
    } else if (c === comma) {
      if (++parts > partsMax) return tooMany(partsMax, "values");
    } else if (c === openBrace || c === openBracket) {
      if (++depth > limits.depthMax) return { kind: "error", message: "exceeded max depth" };
      if (++parts > partsMax) return tooMany(partsMax, "values");
    } else if (c === closeBrace || c === closeBracket) {
      depth--;
    } else if (c === minus) {
      if (text.charCodeAt(at + 1) === zero) hasOddNumbers = true;
    } else if (c === dot || ((c === lowerE || c === upperE) && isDigit(text.charCodeAt(at - 1)))) {
      hasOddNumbers = true;
    }
  }
  return { colons, hasOddNumbers };
}

function isDigit(c: number): boolean {
  return c >= zero && c <= nine;
}

function tooMany(max: number, what: string): { kind: "too-many"; message: string } {
  return { kind: "too-many", message: `more than ${max} ${what}` };
}

interface KeyCount {
  /** Counts a key. @returns whether there are now more distinct keys than allowed. */
  passedBy(key: string): boolean;
  readonly refusal: { readonly kind: "too-many"; readonly message: string };
}

function keyCount({ keysMax }: JsonLimits): KeyCount | undefined {
  if (keysMax === undefined) return undefined;
  const seen = new Set<string>();
  return {
    passedBy: (key) => seen.add(key).size > keysMax,
    refusal: tooMany(keysMax, "different keys"),
  };
}

/** Most keys and values are short, for which a search costs more than a few steps. */
const stepsBeforeSearch = 12;

/** Index of the closing quote; the end of the text when there is none. */
function endOfString(text: string, open: number): number {
  const searchFrom = open + 1 + stepsBeforeSearch;
  for (let at = open + 1; at < searchFrom; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) return at;
    if (c === backslash) return endOfEscaped(text, at - 1);
  }
  const at = text.indexOf('"', searchFrom);
  if (at < 0) return text.length;
  return text.charCodeAt(at - 1) === backslash ? endOfEscaped(text, searchFrom - 1) : at;
}

/** Steps character by character, which is cheaper than a search per quote. `before` must not escape what follows. */
function endOfEscaped(text: string, before: number): number {
  for (let at = before + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === quote) return at;
    if (c === backslash) at++;
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
