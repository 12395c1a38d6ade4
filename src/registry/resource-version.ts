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
  if (text.length > 20) return versionError(text, "value out of range");
  return revision === 0 ? { kind: "any" } : { kind: "revision", revision };
}

function versionError(text: string, why: string): FieldError {
  const quoted = JSON.stringify(text);
  return {
    reason: "FieldValueInvalid",
    field: "resourceVersion",
    message: `Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`,
  };
}

export function isVersionError(asked: AskedVersion | FieldError): asked is FieldError {
  return "reason" in asked;
}
