/**
 * Tables: `as=Table` of one object or a list, the form kubectl prints.
 *
 * A row is made once per object and kept with it (CachedObject.encoded), cells and the wanted part of
 * the object together. Ages in cells go stale with the cache entry's lifetime only for watches that
 * share a row of the same second; lists make ages afresh.
 */
import type { AnyObject, JsonValue } from "#api/object.ts";
import { badRequest } from "#api/status.ts";
import type { ServedKind } from "./kind.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

/** @throws ApiError 400 for an unknown policy. */
export function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  switch (value) {
    case "":
      return "Metadata";
    case "None":
    case "Metadata":
    case "Object":
      return value;
    default:
      throw badRequest(`unrecognized includeObject value: ${JSON.stringify(value)}`);
  }
}

export interface TableRow {
  readonly cells: readonly JsonValue[];
  readonly object?: object;
}

export function tableRow(kind: ServedKind, object: AnyObject, include: IncludeObject): TableRow {
  const cells = kind.table?.cells(object) ?? [];
  switch (include) {
    case "None":
      return { cells, object: undefined as never };
    case "Object":
      return { cells, object };
    case "Metadata":
      return { cells, object: partial(object) };
    default:
      return include satisfies never;
  }
}

export function partial(object: AnyObject, version: "v1" | "v1beta1" = "v1"): object {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: `meta.k8s.io/${version}`,
    metadata: object.metadata ?? {},
  };
}

/** `columns` false: a later event of a watch, which does not repeat them. */
export function table(
  kind: ServedKind,
  version: "v1" | "v1beta1",
  metadata: object,
  rows: readonly TableRow[],
  columns: boolean,
): object {
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: columns ? (kind.table?.columns ?? []) : null,
    rows,
  };
}
