/**
 * metav1.Table, the form that `kubectl get` requests. The printer defines the columns once; each row carries
 * the object, its metadata, or nothing. In a watch only the first table has column definitions.
 */
import { given } from "#base/given.ts";
import { partialObjectMetadata } from "../convert/convert.ts";
import type { PartialObjectMetadata } from "../convert/convert.ts";
import type { AnyObject } from "../object.ts";
import type { Printer, TableColumnDefinition, TableRowCondition } from "./printer.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly conditions?: readonly TableRowCondition[];
  readonly object: AnyObject | PartialObjectMetadata | null;
}

export interface Table {
  readonly kind: "Table";
  readonly apiVersion: string;
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly columnDefinitions: readonly TableColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

export interface TableOptions {
  readonly includeObject: IncludeObject;
  readonly nowMs: number;
  /** Which version of meta.k8s.io the client asked for. */
  readonly apiVersion?: "meta.k8s.io/v1" | "meta.k8s.io/v1beta1";
  /** The resourceVersion of the list, or of the single object. */
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
  /** Absent: true. False for all but the first event of a watch. */
  readonly withColumns?: boolean;
}

/** Parses `includeObject` of the query: "" is Metadata; undefined for an invalid value. */
export function parseIncludeObject(text: string): IncludeObject | undefined {
  if (text === "") return "Metadata";
  return text === "None" || text === "Metadata" || text === "Object" ? text : undefined;
}

/** The metadata shown for a bookmark, including the annotation that ends the initial events. */
export function bookmarkInclude(include: IncludeObject, bookmark: AnyObject): IncludeObject {
  const marks = bookmark.metadata?.annotations?.["k8s.io/initial-events-end"] === "true";
  return marks && include === "None" ? "Metadata" : include;
}

export function tableFor(
  printer: Printer,
  objects: readonly AnyObject[],
  options: TableOptions,
): Table {
  const { resourceVersion, remainingItemCount } = options;
  return {
    kind: "Table",
    apiVersion: options.apiVersion ?? "meta.k8s.io/v1",
    metadata: {
      ...(resourceVersion === undefined || resourceVersion === "" ? {} : { resourceVersion }),
      ...given({ continue: options.continue, remainingItemCount }),
    },
    columnDefinitions: options.withColumns === false ? null : printer.columns,
    rows: objects.map((object) => tableRow(printer, object, options)),
  };
}

/** One row; used by servers that cache the rows of a list. */
export function tableRow(printer: Printer, object: AnyObject, options: TableOptions): TableRow {
  const conditions = printer.conditions?.(object) ?? [];
  return {
    cells: printer.row(object, options.nowMs),
    ...(conditions.length === 0 ? {} : { conditions }),
    object: rowObject(object, options),
  };
}

function rowObject(object: AnyObject, options: TableOptions): TableRow["object"] {
  if (options.includeObject === "None") return null;
  if (options.includeObject === "Object") return object;
  return partialObjectMetadata(object, options.apiVersion);
}
