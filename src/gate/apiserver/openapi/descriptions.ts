/**
 * The parts of the built-in definitions that only published documents need: descriptions, unions and the shapes of
 * scalars. They are read from the generated file at the first request for a document.
 *
 * A field that points to a definition has no description of its own in the generator's source: it gets a standard text
 * for the usual names (metadata, spec ...), or else its type's description.
 */
import { ownEntry } from "#base/own.ts";
import { readFileSync } from "node:fs";
import type { FieldSchema } from "#api/schema/schema-types.ts";

export interface DefinitionText {
  readonly description: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly union?: {
    readonly discriminator?: string;
    readonly fields: Readonly<Record<string, string>>;
  };
  /** Shape of a scalar definition, which has no schema in the structure table. */
  readonly shape?: "any" | "object" | "string" | "date-time" | "int-or-string";
}

let texts: Readonly<Record<string, DefinitionText>> | undefined;

/** Reads the texts synchronously: 0.8 MB, about 5 ms, once per process. */
export function textOf(definition: string): DefinitionText | undefined {
  texts ??= readTexts();
  return Object.hasOwn(texts, definition) ? texts[definition] : undefined;
}

export function fieldDescription(
  owner: DefinitionText | undefined,
  name: string,
  field: FieldSchema,
  target: string | undefined,
): string {
  const own = owner?.fields[name];
  if (own !== undefined || target === undefined) return own ?? "";
  const isStruct = field.type === "object";
  return (isStruct ? ownEntry(usual, name) : undefined) ?? textOf(target)?.description ?? "";
}

const usual: Readonly<Record<string, string>> = {
  metadata: "Name, namespace, labels and everything else that all objects have.",
  spec: "The desired state.",
  status: "The observed state, written by the system.",
  template: "What is made: metadata and spec of the new objects.",
  selector: "Which objects are meant, by their labels.",
};

function readTexts(): Readonly<Record<string, DefinitionText>> {
  const file = new URL("../../../core/api/gen/descriptions.json", import.meta.url);
  // The generator writes exactly this type.
  return JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, DefinitionText>>;
}
