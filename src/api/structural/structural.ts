/**
 * The schema of a custom resource, compiled: what pruning, defaulting, validation and apply walk.
 *
 * A node keeps the schema as its definition holds it and reads the rest on first use: a definition whose
 * objects nobody touches costs one object. Children are made once each and kept.
 */
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldError } from "../status.ts";

export interface Structural {
  /** As written in the definition; shared with it, never copied. */
  readonly schema: JsonObject;
  /** "" when the schema names none (int-or-string, preserved fields). */
  readonly type: string;
  readonly isNullable: boolean;
  readonly isIntOrString: boolean;
  readonly isEmbeddedResource: boolean;
  readonly preservesUnknownFields: boolean;
  /** Absent on a list: atomic. */
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: "atomic" | "granular" | undefined;
  /** Pruned by the schema itself; undefined: none. A null default is none, as upstream. */
  readonly defaultValue: JsonValue | undefined;
  readonly items: Structural | undefined;
  /** Names in Go's order, for walks whose findings have to come in one order. */
  readonly propertyNames: readonly string[];
  property(name: string): Structural | undefined;
  /** `true`: any further field is kept; a schema: and is of this kind; undefined: further fields are unknown. */
  readonly additional: Structural | boolean | undefined;
  /** No defaults at or below this node: a walk may skip it. */
  readonly hasDefaults: boolean;
}

/** `errors`: the schema is not structural (upstream's texts, paths from `path`), and then `structural` is absent. */
export function compileStructural(
  _schema: JsonObject,
  _path = "",
): { readonly structural?: Structural; readonly errors: readonly FieldError[] } {
  throw new Error("not yet");
}

/** The message of the condition NonStructuralSchema, or undefined when every version is structural. */
export function nonStructuralMessage(_definition: JsonObject): string | undefined {
  throw new Error("not yet");
}
