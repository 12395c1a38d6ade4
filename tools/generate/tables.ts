/**
 * Prints the two data files: structure (read at every start, so compact and ready to use) and
 * what only published documents need (descriptions and unions; read when OpenAPI is first asked).
 */
import type { Definition } from "./definitions.ts";
import { scalars } from "./overlay/kinds.ts";

/** `{ "<definition>": ObjectSchema }`, one definition per line. */
export function printSchema(definitions: readonly Definition[]): string {
  return printLines(definitions.map((d) => [d.schema.name, d.schema]));
}

/** `{ "<definition>": { description, fields, union? , shape? } }`; `shape` for scalar definitions. */
export function printDescriptions(definitions: readonly Definition[]): string {
  const structs: [string, object][] = definitions.map((d) => [
    d.schema.name,
    {
      description: d.description,
      fields: d.fieldDescriptions,
      ...(d.union === undefined ? {} : { union: d.union }),
    },
  ]);
  const leaves: [string, object][] = Object.entries(scalars)
    .filter(([, facts]) => facts.shape !== "empty")
    .map(([type, facts]) => [
      `${facts.path}.${type}`,
      { description: facts.description, fields: {}, shape: facts.shape },
    ]);
  return printLines([...structs, ...leaves].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function printLines(entries: readonly (readonly [string, object])[]): string {
  const lines = entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}
