/**
 * Tables of custom resources: the name, then the columns of additionalPrinterColumns. Without any, the age.
 * After  tableconvertor.go: if a path does not parse, only the name is shown.
 */
import { JsonPathError, type JsonPath } from "#api/json-path/json-path.ts";
import { ColumnPaths, RowValues } from "#api/json-path/row-values.ts";
import type { AnyObject } from "#api/object.ts";
import type { Cell, Printer, TableColumnDefinition } from "#api/printers/printer.ts";
import { ageOf, parseTime } from "#api/values/time.ts";
import { objectMetaDefinition } from "#api/schema/schema.ts";
import { textOf } from "#apiserver/openapi/descriptions.ts";
import type { DefinedVersion } from "./definition.ts";

function metadataDescription(field: string): string {
  return textOf(objectMetaDefinition)?.fields[field] ?? "";
}

interface Column {
  readonly path: JsonPath;
  readonly type: string;
}

const nameOf = (object: AnyObject): string => object.metadata?.name ?? "";

export function customPrinter({ additionalPrinterColumns = [] }: DefinedVersion): Printer {
  const given = additionalPrinterColumns.length === 0 ? [ageColumn()] : additionalPrinterColumns;
  const paths = new ColumnPaths();
  const columns = given.flatMap((column) => parseColumn(paths, column));
  const isWhole = columns.length === given.length;
  const shown = isWhole ? given : [];
  return {
    columns: [nameColumn(), ...shown.map(header)],
    row(object, nowMs) {
      const values = new RowValues(object);
      return [nameOf(object), ...(isWhole ? columns.map((one) => cellOf(one, values, nowMs)) : [])];
    },
  };
}

function parseColumn(paths: ColumnPaths, { jsonPath, type }: GivenColumn): readonly Column[] {
  try {
    return [{ path: paths.parse(jsonPath), type }];
  } catch (error) {
    if (error instanceof JsonPathError) return [];
    throw error;
  }
}

function nameColumn(): TableColumnDefinition {
  const description = metadataDescription("name");
  return { name: "Name", type: "string", format: "name", description, priority: 0 };
}

type GivenColumn = NonNullable<DefinedVersion["additionalPrinterColumns"]>[number];

function ageColumn(): GivenColumn {
  const description = metadataDescription("creationTimestamp");
  return { name: "Age", type: "date", description, jsonPath: ".metadata.creationTimestamp" };
}

function header(column: GivenColumn): TableColumnDefinition {
  const { name, format = "", priority = 0, description = "" } = column;
  const said = `Custom resource definition column (in JSONPath format): ${column.jsonPath}`;
  // Validation of the definition has checked that the type is one of the five.
  const type = column.type as TableColumnDefinition["type"];
  return { name, type, format, description: description === "" ? said : description, priority };
}

function cellOf({ path, type }: Column, values: RowValues, nowMs: number): Cell {
  if (type === "string") return values.text(path) ?? null;
  const value = values.value(path);
  return value === undefined ? null : valueCell(type, value, nowMs);
}

function valueCell(type: string, value: unknown, nowMs: number): Cell {
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageCell(value, nowMs) : null;
    default:
      return null;
  }
}

function ageCell(text: string, nowMs: number): string {
  if (text === "" || text === "null") return "<unknown>";
  return parseTime(text) === undefined ? "<invalid>" : ageOf(text, nowMs);
}
