/**
 * Schemas as data: the form of the generated tables after start-up. `schema.ts` serves them.
 *
 * One ObjectSchema per OpenAPI definition, named as upstream names it (`io.k8s.api.core.v1.Pod`).
 */

import type { JsonValue } from "../object.ts";

type FieldType = "string" | "integer" | "number" | "boolean" | "array" | "map" | "object" | "any";

type FieldFormat =
  | "int32"
  | "int64"
  | "double"
  | "byte"
  | "date-time"
  | "micro-time"
  | "quantity"
  | "int-or-string"
  | "duration";

export interface FieldSchema {
  readonly type: FieldType;
  readonly format?: FieldFormat;
  /** Definition name; set exactly when `type` is "object" and the object has a definition. */
  readonly ref?: string;
  /** Schema of array elements or map values. */
  readonly items?: FieldSchema;
  /** Strategic merge: strategies and the key that joins list elements. */
  readonly patchStrategy?: "merge" | "replace" | "retainKeys" | "merge,retainKeys";
  readonly patchMergeKey?: string;
  /** For server-side apply. Absent on an array: atomic. */
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /** For a field that is a list map key: the value that its absence stands for in server-side apply. */
  readonly default?: JsonValue;
  readonly mapType?: "atomic" | "granular";
  readonly enum?: readonly string[];
  /**
   * Built-in kinds only: how Go's JSON writes the zero of the field. `omitted` leaves it out, `written` writes
   * it, `null` writes null when it is not set. Absent: a pointer, which is written whenever it is set.
   */
  readonly zero?: "omitted" | "written" | "null";
  /** Custom resources only. */
  readonly preserveUnknownFields?: boolean;
  readonly nullable?: boolean;
}

export interface ObjectSchema {
  /** `io.k8s.api.core.v1.PodSpec`. */
  readonly name: string;
  readonly fields: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
  /** Fields that Go always writes, with their zero values; those whose zero is null are not included. */
  readonly written?: Readonly<Record<string, JsonValue>>;
  /** `x-kubernetes-map-type` of the type. */
  readonly mapType?: "atomic" | "granular";
  readonly groupVersionKinds?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}
