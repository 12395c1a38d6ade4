/** Default values of a schema, put into an object: on write and on read. */
import type { JsonObject } from "../object.ts";
import type { Structural } from "./structural.ts";

/** First step of a write and a read: nulls where none may be, and no default stands in, are dropped. */
export function dropNulls(_object: JsonObject, _structural: Structural): JsonObject {
  throw new Error("not yet");
}

/** Fills absent fields and non-nullable nulls. The same reference when nothing was missing. Idempotent. */
export function applyStructuralDefaults(_object: JsonObject, _structural: Structural): JsonObject {
  throw new Error("not yet");
}
