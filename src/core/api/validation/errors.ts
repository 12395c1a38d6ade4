/**
 * Findings in upstream's wording (apimachinery util/validation/field): the type's text, the
 * bad value where the type shows one, the detail.
 *
 * Values are printed as in Go: texts quoted, numbers and booleans bare, everything else as compact JSON.
 */
import type { FieldError } from "../status.ts";

/** Stands for "no value to show" (field.OmitValueType). */
export const omitted: unique symbol = Symbol("omitted");

export function required(field: string, detail = ""): FieldError {
  return makeFinding("FieldValueRequired", field, "Required value", detail);
}

export function forbiddenField(field: string, detail: string): FieldError {
  return makeFinding("FieldValueForbidden", field, "Forbidden", detail);
}

export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return makeFinding("FieldValueInvalid", field, withValue("Invalid value", value), detail);
}

/** `json` is shown unchanged. */
export function invalidJson(field: string, json: string, detail: string): FieldError {
  return makeFinding("FieldValueInvalid", field, `Invalid value: ${json}`, detail);
}

/** `supported` is shown in the given order; sort it where upstream does. */
export function notSupported(
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError {
  const detail = supportedText(supported);
  return makeFinding(
    "FieldValueNotSupported",
    field,
    withValue("Unsupported value", value),
    detail,
  );
}

/** Cached by list: a request may contain thousands of values that one list does not support. */
const supportedTexts = new WeakMap<readonly string[], string>();

function supportedText(supported: readonly string[]): string {
  const known = supportedTexts.get(supported);
  if (known !== undefined) return known;
  const list = supported.map((text) => JSON.stringify(text)).join(", ");
  const made = supported.length === 0 ? "" : `supported values: ${list}`;
  supportedTexts.set(supported, made);
  return made;
}

export function duplicate(field: string, value: unknown, detail = ""): FieldError {
  return makeFinding("FieldValueDuplicate", field, withValue("Duplicate value", value), detail);
}

export function notFoundField(field: string, value: unknown, detail = ""): FieldError {
  return makeFinding("FieldValueNotFound", field, withValue("Not found", value), detail);
}

export function tooLong(field: string, maxBytes: number): FieldError {
  const unit = maxBytes === 1 ? "byte" : "bytes";
  return makeFinding(
    "FieldValueTooLong",
    field,
    "Too long",
    `may not be more than ${maxBytes} ${unit}`,
  );
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  const unit = max === 1 ? "item" : "items";
  const body = withValue("Too many", actual);
  return makeFinding("FieldValueTooMany", field, body, `must have at most ${max} ${unit}`);
}

/** One `invalidValue` per text. */
export function invalidEach(
  field: string,
  value: unknown,
  details: readonly string[],
): FieldError[] {
  return details.map((detail) => invalidValue(field, value, detail));
}

/** Appends a list of any length; a call with too many arguments would throw. */
export function append<T>(out: T[], more: readonly T[]): void {
  for (const item of more) out.push(item);
}

/** Indexes of keys that are equal to an earlier one. */
export function repeatedAt(keys: readonly string[]): readonly number[] {
  const seen = new Set<string>();
  const repeated: number[] = [];
  keys.forEach((key, at) => {
    if (seen.has(key)) repeated.push(at);
    seen.add(key);
  });
  return repeated;
}

function makeFinding(
  reason: FieldError["reason"],
  field: string,
  body: string,
  detail: string,
): FieldError {
  return { reason, field, message: detail === "" ? body : `${body}: ${detail}` };
}

function withValue(type: string, value: unknown): string {
  return value === omitted ? type : `${type}: ${printValue(value)}`;
}

/** `spec` + `containers` = `spec.containers`; an empty path adds nothing. */
export function child(path: string, ...names: readonly string[]): string {
  return names.reduce((at, name) => (at === "" ? name : `${at}.${name}`), path);
}

export function index(path: string, at: number): string {
  return `${path}[${at}]`;
}

export function key(path: string, name: string): string {
  return `${path}[${name}]`;
}

/** A value as Go prints it in errors. Object keys keep their order; keys of maps are sorted. */
export function printValue(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") {
    return String(value);
  }
  return goJson(value);
}

function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, goJsonEscape);
}

function goJsonEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
