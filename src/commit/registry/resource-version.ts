/** resourceVersion as clients send it: "" and "0" have meanings of their own, the rest is a number. */
import type { FieldError } from "#api/status.ts";

export type AskedVersion =
  /** "" or absent. */
  | { readonly kind: "unset" }
  /** "0". */
  | { readonly kind: "any" }
  | { readonly kind: "revision"; readonly revision: number };

/** @returns a FieldError for a text that is no decimal number. */
export function parseVersion(text: string | undefined): AskedVersion | FieldError {
  if (text === undefined || text === "") return { kind: "unset" };
  if (!/^[0-9]+$/.test(text)) return versionError(text, "invalid syntax");
  const revision = Number(text);
  // Above 2^53 no revision ever was or will be: such a number is simply too large.
  if (text.length >= 20 && isBeyond64Bits(text)) return versionError(text, "value out of range");
  return revision === 0 ? { kind: "any" } : { kind: "revision", revision };
}

/** Zeros in front count for nothing. */
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

/** What upstream's store says of a version that an object brings and that is no number; undefined: it is one. */
export function versionFault(text: string): string | undefined {
  const asked = parseVersion(text);
  if (!isVersionError(asked)) return undefined;
  return parseFault(text, /^[0-9]+$/.test(text) ? "value out of range" : "invalid syntax");
}

export function isVersionError(asked: AskedVersion | FieldError): asked is FieldError {
  return "reason" in asked;
}
