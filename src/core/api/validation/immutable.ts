/** The error text of immutable fields. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { child, invalidValue } from "./errors.ts";
import { semanticEqual } from "./equal.ts";

export const immutableText = "field is immutable";

export function checkImmutable(
  out: FieldError[],
  next: Fields,
  old: Fields,
  /** `zero`: what Go shows where the field is left out; null, if it is a pointer. */
  at: { readonly field: string; readonly path: string; readonly zero?: string },
): void {
  if (semanticEqual({ [at.field]: next[at.field] }, { [at.field]: old[at.field] })) return;
  out.push(
    invalidValue(child(at.path, at.field), next[at.field] ?? at.zero ?? null, immutableText),
  );
}
