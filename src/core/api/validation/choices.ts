/** Values from closed sets. */
import type { FieldError } from "../status.ts";
import { notSupported, required } from "./errors.ts";

/** "" is reported as missing, any other unknown value as not supported. */
export function checkOneOf(
  out: FieldError[],
  value: string,
  supported: readonly string[],
  path: string,
): void {
  if (value === "") out.push(required(path));
  else if (!supported.includes(value)) out.push(notSupported(path, value, supported));
}

/** An absent value is accepted; "" counts as a value. */
export function checkIfGiven(
  out: FieldError[],
  value: unknown,
  supported: readonly string[],
  path: string,
): void {
  if (value === undefined || value === null) return;
  if (typeof value === "string" && supported.includes(value)) return;
  out.push(notSupported(path, value, supported));
}
