/**
 * Checks of a value that is neither an object nor a list: type, length, pattern, format, ranges, enum. The texts
 * and their order are kube-openapi's (pkg/validation/validate/type.go, validator.go, values.go).
 */
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "../json/json-value.ts";
import type { JsonValue } from "../object.ts";
import type { FieldError } from "../status.ts";
import { invalidValue, notSupported, required, tooLong, tooMany } from "../validation/errors.ts";
import type { SchemaChecks } from "./checks.ts";
import { add, noField, pathText, spend, type Walk } from "./findings.ts";
import { goFloat, isAlmostInteger, isInt64 } from "./go-number.ts";
import { compilePattern } from "./patterns.ts";

const emptyText = '""';

/** Reports a finding about the current value; `detail` says more than the path. */
function report(walk: Walk, made: (field: string) => FieldError, text: string): void {
  add(walk, { ...made(pathText(walk) || noField), text });
}

export function reportInvalid(walk: Walk, value: unknown, words: string): void {
  const detail = `${pathText(walk)} in body ${words}`;
  report(walk, (field) => invalidValue(field, value, detail), detail);
}

/** Reports a finding about the whole object, because upstream omits the field. */
export function reportWhole(walk: Walk, detail: string): void {
  const message = `Invalid value: ${emptyText}: ${detail}`;
  add(walk, { reason: "FieldValueInvalid", field: noField, message, text: detail });
}

function reportType(walk: Walk, value: string, wanted: string): void {
  const detail = `${pathText(walk)} in body must be of type ${wanted}: ${JSON.stringify(value)}`;
  report(
    walk,
    (field) => ({ ...invalidValue(field, value, detail), reason: "FieldValueTypeInvalid" }),
    detail,
  );
}

export function reportRequired(walk: Walk, name: string): void {
  walk.path.push(name);
  const text = `${pathText(walk)} in body is required`;
  report(walk, (field) => required(field), text);
  walk.path.pop();
}

export function reportTooMany(walk: Walk, actual: number, max: number, what: string): void {
  const text = `${pathText(walk)} in body should have at most ${max} ${what}`;
  report(walk, (field) => tooMany(field, actual, max), text);
}

type Kind = "null" | "boolean" | "string" | "integer" | "number" | "array" | "object";

function kindOf(value: JsonValue): Kind {
  if (value === null) return "null";
  if (typeof value === "number") return isInt64(value) ? "integer" : "number";
  if (typeof value !== "object") return typeof value as "boolean" | "string"; // what JSON has left
  return Array.isArray(value) ? "array" : "object";
}

/** @returns false when the type is wrong; otherwise this counts as a passed check. */
export function checkType(walk: Walk, checks: SchemaChecks, value: JsonValue): void {
  const { types, format } = checks;
  const kind = kindOf(value);
  if (value === null) {
    if (types.length > 0 && !checks.isNullable) reportType(walk, "null", types.join(","));
    else walk.outcome.passed++;
    return;
  }
  if (types.length === 0 && format === "") return;
  const isNumber = kind === "integer" || kind === "number";
  const isFit =
    types.includes(kind) ||
    (kind === "number" && types.includes("integer") && isAlmostInteger(value as number)) || // kind
    (kind === "integer" && types.includes("number"));
  const isPlain = kind === "string" || kind === "array";
  const valueFormat = isNumber ? (kind === "integer" ? "int64" : "float64") : "";
  if (!isPlain && format !== "" && !isFit && valueFormat !== format) {
    reportType(walk, valueFormat, format);
  } else if (isPlain && format !== "" && !types.includes("number") && !types.includes("integer")) {
    walk.outcome.passed++;
  } else if (isFit) walk.outcome.passed++;
  else reportType(walk, kind, types.join(","));
}

export function checkText(walk: Walk, checks: SchemaChecks, value: string): void {
  checkLengthAndPattern(walk, checks, value);
  walk.outcome.passed++;
  if (checks.isText === undefined) return;
  if (!spend(walk, value.length / 64)) return;
  if (!checks.isText(value)) reportFormat(walk, checks.format, value);
  walk.outcome.passed++;
}

function reportFormat(walk: Walk, format: string, value: string): void {
  const detail = `${pathText(walk)} in body must be of type ${format}: ${JSON.stringify(value)}`;
  report(
    walk,
    (field) => ({ ...invalidValue(field, value, detail), reason: "FieldValueTypeInvalid" }),
    detail,
  );
}

function checkLengthAndPattern(walk: Walk, checks: SchemaChecks, value: string): void {
  const { maxLength, minLength, pattern } = checks;
  if (maxLength !== undefined && isLonger(value, maxLength)) {
    const text = `${pathText(walk)} in body should be at most ${maxLength} chars long`;
    report(walk, (field) => tooLong(field, maxLength), text);
  } else if (minLength !== undefined && codePoints(value) < minLength) {
    reportInvalid(walk, value, `should be at least ${minLength} chars long`);
  } else if (pattern !== "") {
    if (!spend(walk, 1)) return;
    if (!matches(walk, pattern, value)) reportInvalid(walk, value, `should match '${pattern}'`);
  }
}

/** Whether the pattern matches anywhere in `value`. A pattern that does not compile never matches. */
function matches(walk: Walk, source: string, value: string): boolean {
  const compiled = compilePattern(source);
  if (compiled.pattern === undefined) return false;
  // Each character may be processed at every step; one unit of work covers about 16 of them.
  if (!spend(walk, (value.length * compiled.steps) / 16)) return true;
  return compiled.pattern.matcher(value).find();
}

/** A text has at least half as many code points as units, so most texts need no counting. */
function isLonger(value: string, max: number): boolean {
  return value.length > max && codePoints(value) > max;
}

function codePoints(value: string): number {
  let count = value.length;
  for (let at = 0; at < value.length - 1; at++) {
    const unit = value.charCodeAt(at);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = value.charCodeAt(at + 1);
    if (next >= 0xdc00 && next <= 0xdfff) count--;
  }
  return count;
}

const integerRanges: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
};
const floatMax = 3.402_823_466_385_288_6e38;

/** Whether a number fits the schema's type. Upstream reports this without the field. */
function fits(walk: Walk, checks: SchemaChecks, value: number, what: string): boolean {
  const { numberType, format } = checks;
  if (numberType === "") return true;
  const [low, high] = ownEntry(integerRanges, format) ?? [-Infinity, Infinity];
  const isGood =
    numberType === "integer"
      ? isInt64(value) && value >= low && value <= high
      : format !== "float" || Math.abs(value) <= floatMax;
  if (isGood) return true;
  const kind = format === "" ? "(default format)" : `with format ${format}`;
  reportWhole(walk, `${what} value must be of type ${numberType} ${kind} in ${pathText(walk)}`);
  return false;
}

export function checkNumber(walk: Walk, checks: SchemaChecks, value: number): void {
  const { multipleOf, minimum, maximum } = checks;
  fits(walk, checks, value, "Checked");
  const isInt = isInt64(value);
  if (multipleOf !== undefined) {
    const isNative = fits(walk, checks, multipleOf, "MultipleOf") && isInt;
    checkMultiple(walk, value, isNative ? Math.trunc(multipleOf) : multipleOf, isNative);
  }
  if (minimum !== undefined) {
    const isNative = fits(walk, checks, minimum.bound, "Minimum boundary") && isInt;
    const bound = isNative ? Math.trunc(minimum.bound) : minimum.bound;
    if (minimum.isExclusive ? value <= bound : value < bound) {
      const words = minimum.isExclusive ? "greater than" : "greater than or equal to";
      reportBound(walk, value, `should be ${words} ${goFloat(bound)}`);
    }
  }
  if (maximum !== undefined) {
    const isNative = fits(walk, checks, maximum.bound, "Maximum boundary") && isInt;
    const bound = isNative ? Math.trunc(maximum.bound) : maximum.bound;
    if (maximum.isExclusive ? value >= bound : value > bound) {
      const words = maximum.isExclusive ? "less than" : "less than or equal to";
      reportBound(walk, value, `should be ${words} ${goFloat(bound)}`);
    }
  }
  walk.outcome.passed += 2;
}

function checkMultiple(walk: Walk, value: number, factor: number, isNative: boolean): void {
  if (factor <= 0) {
    const detail = `factor MultipleOf declared for ${pathText(walk)} must be positive: ${goFloat(factor)}`;
    report(walk, (field) => invalidValue(field, factor, detail), detail);
    return;
  }
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  const isMultiple = isNative ? value % factor === 0 : isAlmostInteger(quotient);
  if (!isMultiple) reportBound(walk, value, `should be a multiple of ${goFloat(factor)}`);
}

function reportBound(walk: Walk, value: number, words: string): void {
  const detail = `${pathText(walk)} in body ${words}`;
  const message = `Invalid value: ${goFloat(value)}: ${detail}`;
  report(walk, (field) => ({ reason: "FieldValueInvalid", field, message }), detail);
}

export function checkEnum(walk: Walk, checks: SchemaChecks, value: JsonValue): void {
  if (checks.enum.length === 0) return;
  if (!spend(walk, checks.enum.length / 8)) return;
  if (value !== null && checks.enum.some((one) => isSame(value, one))) return;
  const supported = checks.enum.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  const text = `${pathText(walk)} in body should be one of [${supported.join(" ")}]`;
  report(walk, (field) => notSupported(field, value, supported), text);
}

/** Compared with an integer, a fraction is truncated first, as Go converts it. */
function isSame(value: JsonValue, one: JsonValue): boolean {
  if (typeof value !== "number" || typeof one !== "number") return jsonEqual(value, one);
  return value === one || (isInt64(one) && Math.trunc(value) === one);
}
