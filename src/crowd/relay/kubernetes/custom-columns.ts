/**
 * Tables of custom resources, from the columns their definition declares (additionalPrinterColumns).
 *
 *   Name (always) | one cell per declared column, by its JSONPath | Age when none is declared
 *
 * Holds  a path that leads nowhere, fails, or leads to a value of another type is a null cell, which
 *        kubectl shows as <none>; dates are ages. Paths are parsed once per definition.
 * After  apiextensions-apiserver tableconvertor; the descriptions of Name and Age are our own words.
 */
import type { CustomResourceColumnDefinition } from "#api/gen/types.ts";
import { type JsonPath, JsonPathError } from "#api/json-path/json-path.ts";
import { ColumnPaths, RowValues } from "#api/json-path/row-values.ts";
import {
  ageColumn,
  type Cell,
  nameColumn,
  type Printer,
  type TableColumnDefinition,
} from "#api/printers/printer.ts";
import { ageOf, parseTime } from "#api/values/time.ts";

type ColumnType = TableColumnDefinition["type"];

interface CustomColumn {
  readonly definition: TableColumnDefinition;
  readonly path: JsonPath;
}

const defaultColumns: readonly CustomResourceColumnDefinition[] = [
  {
    name: "Age",
    type: "date",
    description: ageColumn.description,
    jsonPath: ".metadata.creationTimestamp",
  },
];

export function customPrinter(
  declared: readonly CustomResourceColumnDefinition[] | undefined,
): Printer {
  const wanted = declared === undefined || declared.length === 0 ? defaultColumns : declared;
  const columns = customColumns(wanted);
  return {
    columns: [nameColumn, ...columns.map(({ definition }) => definition)],
    row(object, nowMs) {
      const values = new RowValues(object);
      return [object.metadata?.name ?? "", ...columns.map((one) => cell(one, values, nowMs))];
    },
  };
}

/** Returns the columns up to the first one with an invalid path, as upstream does. */
function customColumns(
  declared: readonly CustomResourceColumnDefinition[],
): readonly CustomColumn[] {
  const columns: CustomColumn[] = [];
  const paths = new ColumnPaths();
  for (const column of declared) {
    try {
      columns.push({ definition: header(column), path: paths.parse(column.jsonPath) });
    } catch (error) {
      if (error instanceof JsonPathError) break;
      throw error;
    }
  }
  return columns;
}

function header(column: CustomResourceColumnDefinition): TableColumnDefinition {
  const { name, type, format = "", description = "", priority = 0, jsonPath } = column;
  const text = `Custom resource definition column (in JSONPath format): ${jsonPath}`;
  // The API server validates the type, so no other value occurs.
  const known = type as ColumnType;
  return { name, type: known, format, description: description || text, priority };
}

function cell({ definition, path }: CustomColumn, values: RowValues, nowMs: number): Cell {
  const value = values.value(path);
  if (value === undefined) return null;
  switch (definition.type) {
    case "string":
      return value === null ? "<no value>" : (values.text(path) ?? null);
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? age(value, nowMs) : null;
    default:
      return definition.type satisfies never;
  }
}

function age(text: string, nowMs: number): string {
  const isTime = text === "" || text === "null" || parseTime(text) !== undefined;
  return isTime ? ageOf(text, nowMs) : "<invalid>";
}
