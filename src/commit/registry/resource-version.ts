/** resourceVersion as clients send it: "" and "0" have special meanings, everything else is a number. */
import type { FieldError } from "#api/status.ts";

export type AskedVersion =
  /** "" or absent. */
  | { readonly kind: "unset" }
  /** "0". */
  | { readonly kind: "any" }
  | { readonly kind: "revision"; readonly revision: number };

/** @returns a FieldError if the text is not a decimal number. */
export function parseVersion(text: string | undefined): AskedVersion | FieldError {
  if (text === undefined || text === "") return { kind: "unset" };
  if (!/^[0-9]+$/.test(text)) return versionError(text, "invalid syntax");
  const revision = Number(text);
  // Revisions never exceed 2^53, so a larger number is simply too large.
  if (text.length >= 20 && isBeyond64Bits(text)) return versionError(text, "value out of range");
  return revision === 0 ? { kind: "any" } : { kind: "revision", revision };
}

/** Leading zeros do not count. */
function isBeyond64Bits(text: string): boolean {
  const digits = text.replace(/^0+/, "");
  return digits.length > 20 || BigInt(digits === "" ? "0" : digits) >= 2n ** 64n;
}

function versionError(text: string, why: string): FieldError {
  const message = `Invalid value: ${JSON.stringify(text)}: ${parseFault(text, why)}`;
  return { reason: "FieldValueInvalid", field: "resourceVersion", message };
}

function parseFault(text: string, why: string): string {
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
}

/** Upstream's error text for an object's resourceVersion that is not a number; undefined: it is one. */
export function versionFault(text: string): string | undefined {
  const asked = parseVersion(text);
  if (!isVersionError(asked)) return undefined;
  return parseFault(text, /^[0-9]+$/.test(text) ? "value out of range" : "invalid syntax");
}

export function isVersionError(asked: AskedVersion | FieldError): asked is FieldError {
  return "reason" in asked;
}
