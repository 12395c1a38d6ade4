/** Drops the fields a schema does not know. */
import type { JsonObject } from "../object.ts";
import type { Structural } from "./structural.ts";

export interface Pruned {
  /** The same reference when there was nothing to drop. */
  readonly object: JsonObject;
  /** Paths, sorted: `spec.x`, `spec.list[0].y`. The caller words them: `unknown field "spec.x"`. */
  readonly unknownFields: readonly string[];
}

/** `isResourceRoot`: apiVersion, kind and metadata stay as they are (`coerceMetadata` is for them). */
export function prune(
  _object: JsonObject,
  _structural: Structural | undefined,
  _isResourceRoot: boolean,
): Pruned {
  throw new Error("not yet");
}
