/**
 * A path that names a field of a schema: `.spec.size`, `.data['a.b']`. Selectable fields and the fieldPath
 * of rules are such paths.
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
 */
import { isRecord } from "#base/is-record.ts";
import type { Fields } from "../validation/fields.ts";
import { maybe, part } from "../validation/fields.ts";
import { ownEntry } from "#base/own.ts";

type FoundField =
  | {
      readonly schema: Fields | undefined;
      readonly names: readonly string[];
      readonly error?: undefined;
    }
  | { readonly error: string };

const noField = { error: "does not refer to a valid field" } as const;
const tooShort = { error: "unexpected end of JSON path" } as const;

/** Brackets are for keys that contain dots; elsewhere they are refused. */
export function findField(path: string, root: Fields, allowsBrackets: boolean): FoundField {
  const tokens = split(path);
  const names: string[] = [];
  let schema: Fields | undefined = root;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    let name: string | undefined;
    if (token === ".") name = tokens[++at];
    else if (token !== "[") return { error: `expected [ or . but got: ${token}` };
    else if (!allowsBrackets) return { error: "array notation is not allowed" };
    else {
      const quoted = tokens[++at];
      if (quoted === undefined) return tooShort;
      if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'")) {
        return { error: `expected single quoted string but got ${quoted}` };
      }
      name = quoted.slice(1, -1).replaceAll(/\\(.)/gs, "$1");
      const end = tokens[++at];
      if (end === undefined) return tooShort;
      if (end !== "]") return { error: `expected ] but got ${end}` };
    }
    if (name === undefined) return tooShort;
    const below = step(schema, name);
    if (below === undefined) return noField;
    schema = below.schema;
    names.push(name);
  }
  return { schema, names };
}

function step(
  schema: Fields | undefined,
  name: string,
): { readonly schema: Fields | undefined } | undefined {
  if (schema === undefined) return undefined;
  const properties = part(schema, "properties");
  if (Object.keys(properties).length > 0) {
    const below = ownEntry(properties, name);
    return isRecord(below) ? { schema: below } : undefined;
  }
  const additional = ownEntry(schema, "additionalProperties");
  if (additional === undefined || additional === null) return undefined;
  return { schema: maybe(schema, "additionalProperties") };
}

/** Splits into delimiters, quoted texts, and the texts between them. */
function split(path: string): readonly string[] {
  return path.match(/[.[\]]|'(?:\\'|[^'])*'|'[^]*$|[^.[\]'][^.[\]]*/g) ?? [];
}
