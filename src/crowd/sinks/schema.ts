/**
 * JSON Schema (2020-12) of what a consumer reads of one source: the envelope of the sink's format around the schema that the API server
 * publishes for the kind.
 *
 * Holds  every `$ref` leads into the schema's own `$defs`: it is whole without the API server.
 */
import { isRecord } from "#base/is-record.ts";
import type { FieldRule } from "#api/json-path/field-rule.ts";
import { type Encoding, eventTypes } from "./formats.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The server publishes no schema for the kind. */
export class NoSchemaError extends Error {}

const dialect = "https://json-schema.org/draft/2020-12/schema";
const refPrefix = "#/components/schemas/";
const text: Schema = { type: "string" };

/** @param document OpenAPI v3 document of the group version. Throws NoSchemaError. */
export function schemaOf(encoding: Encoding, document: unknown): Schema {
  const { format, kind, ref, fields } = encoding;
  const title = `${kind} of ${ref.group === "" ? "" : `${ref.group}/`}${ref.version} as ${format}`;
  const head = { $schema: dialect, title };
  if (format === "protobuf") {
    return { ...head, type: "string", contentMediaType: "application/vnd.kubernetes.protobuf" };
  }
  if (fields !== undefined) return { ...head, ...envelope(encoding, chosen(fields)) };
  const schemas = schemasOf(document);
  const name = nameOf(schemas, encoding);
  const defs = closure(schemas, name);
  return { ...head, ...envelope(encoding, { $ref: `#/$defs/${escaped(name)}` }), $defs: defs };
}

function envelope({ format, source }: Encoding, object: Schema): Schema {
  if (format === "json") return object;
  if (format === "deltas") {
    const patch = { type: "object", description: "a JSON merge patch (RFC 7386)" };
    return {
      oneOf: [record({ object }, ["object"]), record({ base: text, patch }, ["base", "patch"])],
    };
  }
  const properties = {
    specversion: { const: "1.0" },
    id: text,
    source: { const: source },
    type: { enum: Object.values(eventTypes) },
    subject: text,
    resourceversion: text,
    datacontenttype: { const: "application/json" },
    data: object,
  };
  return record(properties, ["specversion", "id", "source", "type"]);
}

function record(properties: Schema, required: readonly string[]): Schema {
  return { type: "object", properties, required };
}

/** Returns the schema of selected fields: each is the first value or null, or the list of all values. */
function chosen(rules: readonly FieldRule[]): Schema {
  const fields = Object.fromEntries(
    rules.map(({ name, all }) => [name, all ? { type: "array" } : true] as const),
  );
  const names = rules.map(({ name }) => name);
  return record({ namespace: text, name: text, fields: record(fields, names) }, ["name", "fields"]);
}

function schemasOf(document: unknown): Schema {
  const { components } = recordOf(document);
  return recordOf(recordOf(components)["schemas"]);
}

function nameOf(schemas: Schema, { ref, kind }: Encoding): string {
  for (const [name, schema] of Object.entries(schemas)) {
    const kinds = recordOf(schema)["x-kubernetes-group-version-kind"];
    const isOf = (one: unknown): boolean => {
      const { group, version, kind: of } = recordOf(one);
      return group === ref.group && version === ref.version && of === kind;
    };
    if (Array.isArray(kinds) && kinds.some(isOf)) return name;
  }
  throw new NoSchemaError(`the server publishes no schema for ${kind} of ${ref.version}`);
}

/** Returns the schema `first` and all schemas that it references. */
function closure(schemas: Schema, first: string): Schema {
  const defs = new Map<string, unknown>();
  const waiting = [first];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (defs.has(name)) continue;
    // An unpublished schema accepts any value.
    defs.set(
      name,
      moved(schemas[name] ?? true, (ref) => void waiting.push(ref)),
    );
  }
  return Object.fromEntries([...defs].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function moved(value: unknown, found: (name: string) => void): unknown {
  if (Array.isArray(value)) return value.map((one) => moved(one, found));
  if (!isRecord(value)) return value;
  if (canBeNull(value)) {
    const { type, ...rest } = value;
    return { ...(moved(rest, found) as Schema), type: [type, "null"] };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      if (key !== "$ref" || typeof one !== "string" || !one.startsWith(refPrefix)) {
        return [key, moved(one, found)];
      }
      const name = unescaped(one.slice(refPrefix.length));
      found(name);
      return [key, `#/$defs/${escaped(name)}`];
    }),
  );
}

/** Whether a value may be null: Go writes zero times and nil lists as null, which the published schemas omit. */
function canBeNull({ type, format }: Schema): boolean {
  return type === "array" || (type === "string" && format === "date-time");
}

/** Escapes a name for a JSON pointer. */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescaped(pointer: string): string {
  return pointer.replaceAll("~1", "/").replaceAll("~0", "~");
}

function recordOf(value: unknown): Schema {
  return isRecord(value) ? value : {};
}
