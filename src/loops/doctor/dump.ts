/**
 * The dump of priority and fairness: the requests that wait or run, as comma separated columns.
 *
 * Bounds: `rowsMax` rows. Values are not quoted, so a row of another number of columns holds a comma
 * within a name: its level and schema are read, its user is not.
 */
import type { HeldRequest } from "./evidence.ts";

const rowsMax = 10_000;

export function parseHeldRequests(text: string): readonly HeldRequest[] {
  const [header = "", ...rows] = text.split("\n", rowsMax + 1);
  const columns = cellsOf(header);
  return rows.flatMap((row) => {
    const cells = cellsOf(row);
    const [level = "", schema = ""] = cells;
    if (level === "" || schema === "" || columns[1] !== "FlowSchemaName") return [];
    const isWhole = cells.length === columns.length;
    const cell = (name: string): string => (isWhole ? (cells[columns.indexOf(name)] ?? "") : "");
    const [user, verb, resource] = [cell("UserName"), cell("Verb"), cell("Resource")];
    return [{ level, schema, user, verb, resource: resource === "" ? cell("APIPath") : resource }];
  });
}

function cellsOf(row: string): readonly string[] {
  return row.split(",").map((cell) => cell.trim());
}
