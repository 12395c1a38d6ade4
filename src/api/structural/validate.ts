/** Validation of a custom object against its schema, in upstream's words and order. */
import type { JsonObject } from "../object.ts";
import type { FieldError } from "../status.ts";
import type { Structural } from "./structural.ts";

/**
 * Schema (values), then embedded metadata, then duplicates in sets and maps. The object's own metadata is
 * the caller's (as of every kind). `old`: findings about unchanged values are left out.
 */
export function validateCustomObject(
  _object: JsonObject,
  _structural: Structural,
  _old?: JsonObject,
): FieldError[] {
  throw new Error("not yet");
}
