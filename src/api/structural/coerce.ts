/** TypeMeta and ObjectMeta of a custom object and of the resources embedded in it. */
import type { JsonObject } from "../object.ts";
import type { FieldError } from "../status.ts";
import type { Structural } from "./structural.ts";

export interface Coerced {
  readonly object: JsonObject;
  /** `metadata.x`; empty unless asked for. */
  readonly unknownFields: readonly string[];
  /** The first value of a wrong type; only when invalid fields are not dropped. */
  readonly error?: FieldError;
}

export interface CoerceOptions {
  /** Values of a wrong type are dropped (reads from the store, converted objects), else refused (writes). */
  readonly dropInvalid: boolean;
  readonly isResourceRoot: boolean;
}

export function coerceMetadata(
  _object: JsonObject,
  _structural: Structural | undefined,
  _options: CoerceOptions,
): Coerced {
  throw new Error("not yet");
}
