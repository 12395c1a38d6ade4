/** Joins the table of `numbers.ts` with the schema: the fields of a message, for both directions. */
import type { FieldSchema } from "#api/schema/schema-types.ts";
import { schemaOf } from "#api/schema/schema.ts";
import { freeFormOf, type FreeForm } from "./free.ts";
import { fieldNumbers } from "./numbers.ts";

export interface NumberedField {
  readonly name: string;
  /** The last is the field's own number; the others are those of embedded structs. */
  readonly path: readonly number[];
  readonly schema: FieldSchema;
  readonly free: FreeForm | undefined;
  /** How Go's JSON writes a zero value. */
  readonly zero: "pointer" | "always" | "omit";
}

let lines: ReadonlyMap<string, string> | undefined;

/** Empty for a definition without a protobuf form. The table is parsed on first use. */
export function numberedFields(definition: string): readonly NumberedField[] {
  const fields = schemaOf(definition)?.fields ?? {};
  const parts = lineOf(definition)?.split(" ").slice(1) ?? [];
  return parts.flatMap((part) => {
    const [, name = "", path = "", flag = ""] = /^(.+)=([\d.]+)([*!]?)$/.exec(part) ?? [];
    const schema = fields[name];
    if (schema === undefined) return [];
    const zero = flag === "*" ? "pointer" : flag === "!" ? "always" : "omit";
    const free = freeFormOf(definition, name, schema);
    return [{ name, path: path.split(".").map(Number), schema, free, zero } as const];
  });
}

export function hasNumbers(definition: string): boolean {
  return lineOf(definition) !== undefined;
}

function lineOf(definition: string): string | undefined {
  lines ??= new Map(fieldNumbers.split("\n").map((line) => [line.split(" ", 1)[0] ?? "", line]));
  return lines.get(definition);
}
