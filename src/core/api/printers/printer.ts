/**
 * The interface of a printer: the columns of one kind and the cells of one object, as kubectl shows them.
 *
 * A row always has all columns; those with priority 1 are shown by `-o wide`. Cells are JSON:
 * text for most, numbers and booleans where the column's type requires it. Printers are pure: `nowMs` is
 * the clock for all ages in a table.
 */
import type { AnyObject, KubeObject } from "../object.ts";
import { ageOf } from "../values/time.ts";

/** metav1.TableColumnDefinition. */
export interface TableColumnDefinition {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** `name` for the column kubectl prefixes with the resource; mostly "". */
  readonly format: string;
  readonly description: string;
  /** 0: always shown. */
  readonly priority: number;
}

export type Cell = string | number | bigint | boolean | null;

/** metav1.TableRowCondition: kubectl hides or dims rows by it. */
export interface TableRowCondition {
  readonly type: "Completed";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}

export interface Printer {
  readonly columns: readonly TableColumnDefinition[];
  /** As many cells as columns. */
  row(object: AnyObject, nowMs: number): readonly Cell[];
  conditions?(object: AnyObject): readonly TableRowCondition[];
}

type Row<T> = (object: T, nowMs: number) => readonly Cell[];

/** Creates a printer for one generated kind. */
export function printer<T extends KubeObject>(
  columns: readonly TableColumnDefinition[],
  row: Row<T>,
): Printer {
  return { columns, row: (object, nowMs) => row(object as unknown as T, nowMs) }; // stored objects are of their kind
}

interface ColumnOptions {
  readonly wide?: boolean;
  readonly format?: string;
}

export function column(
  name: string,
  type: TableColumnDefinition["type"],
  description: string,
  options: ColumnOptions = {},
): TableColumnDefinition {
  const { wide = false, format = "" } = options;
  return { name, type, format, description, priority: wide ? 1 : 0 };
}

export function text(name: string, description: string): TableColumnDefinition {
  return column(name, "string", description);
}

export function wideText(name: string, description: string): TableColumnDefinition {
  return column(name, "string", description, { wide: true });
}

export function integer(name: string, description: string): TableColumnDefinition {
  return column(name, "integer", description);
}

export function boolean(name: string, description: string): TableColumnDefinition {
  return column(name, "boolean", description);
}

export const nameColumn: TableColumnDefinition = column(
  "Name",
  "string",
  "The object's name, unique in its namespace for its kind. It cannot be changed.",
  { format: "name" },
);

export const ageColumn: TableColumnDefinition = text(
  "Age",
  "The time since the server created the object.",
);

export function nameOf(object: KubeObject): string {
  return object.metadata?.name ?? "";
}

export function age(object: KubeObject, nowMs: number): string {
  return ageOf(object.metadata?.creationTimestamp, nowMs);
}

/** A map as `k=v,k=v` in key order, `<none>` when there is nothing in it. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const entries = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return entries.sort().join(",") || "<none>";
}

/** The first `max` of a list and how many more there are; `<unset>` for none. */
export function withMore(list: readonly string[], max: number): string {
  const shown = list.slice(0, max).join(",");
  if (list.length > max) return `${shown} + ${list.length - max} more...`;
  return shown || "<unset>";
}

/** Names and images, the two wide columns of everything that has a pod template. */
export const containerColumns: readonly TableColumnDefinition[] = [
  wideText("Containers", "The names of the containers in the template."),
  wideText("Images", "The images of the containers in the template."),
];

export function containerCells(
  containers: readonly { readonly name: string; readonly image?: string }[] | undefined,
): readonly [string, string] {
  const list = containers ?? [];
  return [list.map((c) => c.name).join(","), list.map((c) => c.image ?? "").join(",")];
}
