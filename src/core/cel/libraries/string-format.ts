/**
 * `"%s and %.2f".format([…])` of strings library versions 1 to 3, with upstream's error texts.
 *
 * Output is counted while it grows: a precision or a shared list can make a short format print a lot.
 */
import { int64Max } from "#api/go/go-integer.ts";
import { spendEffort } from "../effort.ts";
import { goQuote } from "./go-quote.ts";
import { localeFixed, localeScientific, plainFixed } from "./go-number.ts";
import { FunctionError, charactersMax, checkCharacters } from "./limits.ts";
import {
  Duration,
  Timestamp,
  Uint,
  isNull,
  listItems,
  mapEntries,
  stringForm,
  typeName,
} from "./values.ts";
import type { Value } from "./values.ts";

type Clause = (value: Value, budget: Budget) => string;
/** Number of characters that may still be printed. */
type Budget = { left: number };

const precisionDefault = 6;
const clauseFailure = "could not parse formatting clause: ";

export function formatText(format: string, args: readonly Value[]): string {
  const budget = { left: charactersMax };
  let out = "";
  let index = 0;
  for (let at = 0; at < format.length;) {
    const next = format.indexOf("%", at);
    const stop = next < 0 ? format.length : next;
    out += format.slice(at, stop);
    if (next < 0) break;
    at = next + 1;
    if (format.startsWith("%", at)) {
      out += "%";
      at += 1;
      continue;
    }
    const value = args[index];
    if (value === undefined) throw new FunctionError(`index ${index} out of range`);
    if (at >= format.length) throw new FunctionError("unexpected end of string");
    const { clause, end } = parseClause(format, at);
    out += spend(budget, formatArgument(clause, value, budget));
    at = end;
    index += 1;
  }
  return out;
}

function parseClause(format: string, at: number): { readonly clause: Clause; end: number } {
  const { verb, precision, end } = parseVerb(format, at);
  return { clause: clauseOf(verb, precision), end };
}

interface Verb {
  readonly verb: string;
  readonly precision: number | undefined;
  /** Position after the clause. */
  readonly end: number;
}

/** Parses the clause after a percent sign. Throws FunctionError. */
export function parseVerb(format: string, at: number): Verb {
  const match = /^\.([0-9]*)/.exec(format.slice(at, at + 400));
  const place = at + (match?.[0].length ?? 0);
  if (match !== null && place >= format.length) {
    throw new FunctionError(
      `${clauseFailure}error while parsing precision: could not find end of precision specifier`,
    );
  }
  const precision = match === null ? undefined : parsePrecision(match[1] ?? "");
  const verb = String.fromCodePoint(format.codePointAt(place) ?? 0);
  if (!"sdfebxXo".includes(verb)) {
    // Upstream reads one byte of the format.
    const [byte = 0] = new TextEncoder().encode(verb);
    const shown = String.fromCharCode(byte);
    throw new FunctionError(`${clauseFailure}unrecognized formatting clause "${shown}"`);
  }
  return { verb, precision, end: place + 1 };
}

function parsePrecision(digits: string): number {
  const before = `${clauseFailure}error while parsing precision: error while converting precision to integer`;
  const why =
    digits === ""
      ? "invalid syntax"
      : digits.length > 400 || BigInt(digits) > int64Max
        ? "value out of range"
        : undefined;
  if (why === undefined) return Number(digits);
  throw new FunctionError(`${before}: strconv.Atoi: parsing ${goQuote(digits)}: ${why}`);
}

function clauseOf(verb: string, precision: number | undefined): Clause {
  const digits = precision ?? precisionDefault;
  switch (verb) {
    case "s":
      return formatString;
    case "d":
      return formatDecimal;
    case "f":
      return (value) => localeFixed(floatOf(value, "fixed-point"), digits);
    case "e":
      return (value) => localeScientific(floatOf(value, "scientific"), digits);
    case "b":
      return formatBinary;
    case "o":
      return formatOctal;
    default:
      return (value) => formatHex(value, verb === "X");
  }
}

function formatArgument(clause: Clause, value: Value, budget: Budget): string {
  // Each character may be printed separately, as two digits or quoted.
  const isText = typeof value === "string" || value instanceof Uint8Array;
  spendEffort(isText ? 1 + value.length / 2 : 1);
  try {
    return clause(value, budget);
  } catch (error) {
    if (error instanceof FunctionError) {
      throw new FunctionError(`error during formatting: ${error.message}`);
    }
    throw error;
  }
}

function spend(budget: Budget, text: string): string {
  spendEffort(1 + text.length / 16);
  budget.left -= text.length;
  if (budget.left < 0) checkCharacters("format", charactersMax + 1);
  return text;
}

function formatString(value: Value, budget: Budget): string {
  const items = listItems(value);
  if (items !== undefined) return formatList(items, budget);
  const entries = mapEntries(value);
  if (entries !== undefined) return formatMap(entries, budget);
  if (isNull(value)) return "null";
  const text = stringForm(value);
  if (text !== undefined) return text;
  const before =
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given";
  throw new FunctionError(`${before} ${typeName(value)}`);
}

/** As upstream, an element is printed as a CEL literal. */
function formatElement(value: Value, budget: Budget): string {
  if (typeof value === "string") return spend(budget, goQuote(value));
  if (value instanceof Uint8Array) return spend(budget, `b${goQuote(formatString(value, budget))}`);
  if (typeof value === "number") return spend(budget, formatDouble(value));
  const text = formatInner(value, budget);
  if (value instanceof Timestamp) return spend(budget, `timestamp(${goQuote(text)})`);
  if (value instanceof Duration) return spend(budget, `duration(${goQuote(text)})`);
  return spend(budget, text);
}

function formatDouble(value: number): string {
  const text = plainFixed(value, precisionDefault);
  return Number.isFinite(value) ? text : goQuote(text);
}

function formatInner(value: Value, budget: Budget): string {
  const isContainer = listItems(value) !== undefined || mapEntries(value) !== undefined;
  if (isContainer || isNull(value) || stringForm(value) !== undefined) {
    return formatString(value, budget);
  }
  throw new FunctionError(`no formatting function for ${typeName(value)}`);
}

function formatList(items: readonly Value[], budget: Budget): string {
  return `[${items.map((item) => formatElement(item, budget)).join(", ")}]`;
}

function formatMap(entries: readonly (readonly [Value, Value])[], budget: Budget): string {
  const pairs = entries.map(([key, value]) => ({
    key: formatKey(key, budget),
    value: formatElement(value, budget),
  }));
  pairs.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return `{${pairs.map(({ key, value }) => `${key}:${value}`).join(", ")}}`;
}

function formatKey(key: Value, budget: Budget): string {
  if (["string", "boolean", "bigint"].includes(typeof key) || key instanceof Uint) {
    return formatElement(key, budget);
  }
  throw new FunctionError(`no formatting function for map key of type ${typeName(key)}`);
}

function wholeOf(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  return value instanceof Uint ? value.value : undefined;
}

function formatDecimal(value: Value): string {
  const whole = wholeOf(value);
  if (whole !== undefined) return whole.toString();
  throw new FunctionError(
    `decimal clause can only be used on integers, was given ${typeName(value)}`,
  );
}

function formatOctal(value: Value): string {
  const whole = wholeOf(value);
  if (whole !== undefined) return whole.toString(8);
  throw new FunctionError(
    `octal clause can only be used on integers, was given ${typeName(value)}`,
  );
}

function formatBinary(value: Value): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  const whole = wholeOf(value);
  if (whole !== undefined) return whole.toString(2);
  throw new FunctionError(
    `only integers and bools can be formatted as binary, was given ${typeName(value)}`,
  );
}

function formatHex(value: Value, isUpper: boolean): string {
  const text = hexText(value);
  return isUpper ? text.toUpperCase() : text;
}

function hexText(value: Value): string {
  const whole = wholeOf(value);
  if (whole !== undefined) return whole.toString(16);
  if (typeof value === "string") return bytesHex(new TextEncoder().encode(value));
  if (value instanceof Uint8Array) return bytesHex(value);
  throw new FunctionError(
    `only integers, byte buffers, and strings can be formatted as hex, was given ${typeName(value)}`,
  );
}

function bytesHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const specialFloats: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function floatOf(value: Value, clause: string): number {
  const float = typeof value === "string" ? specialFloats.get(value) : value;
  if (typeof float === "number") return float;
  throw new FunctionError(
    `${clause} clause can only be used on doubles, was given ${typeName(value)}`,
  );
}
