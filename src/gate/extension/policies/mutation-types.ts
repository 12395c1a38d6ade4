/** Types of mutations: `Object`, `Object.spec` and so on with fields of any type, and `JSONPatch`. */
import type { ObjectDeclaration } from "#cel/declarations.ts";
import { types } from "#cel/libraries/library.ts";
import { dynType, objectType, type Type } from "#cel/type.ts";

const patchFields: ReadonlyMap<string, Type> = new Map([
  ["op", types.string],
  ["path", types.string],
  ["from", types.string],
  ["value", dynType],
]);

/** Type of a field that JSONPatch does not have, as upstream reports it. No value has this type. */
const nothing = objectType("");

export function mutationType(name: string): ObjectDeclaration | undefined {
  const type = objectType(name);
  if (name === "JSONPatch") return { type, field: (field) => patchFields.get(field) ?? nothing };
  if (name !== "Object" && !name.startsWith("Object.")) return undefined;
  return { type, field: () => dynType };
}
