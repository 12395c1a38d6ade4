/**
 * A pod template as the map that Go's encoder makes of the typed struct: zero values are left out where upstream's tags
 * say omitempty, structs that are not pointers are always present, keys are sorted.
 *
 * Why  upstream compares the data of ControllerRevisions byte by byte; ours must equal the data that its controllers
 *      would have written; otherwise they would treat every template as a new one.
 */
import type { PodTemplateSpec } from "#api/gen/types.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { type GoField, type GoType, fieldsOf } from "./template-fields.ts";

type Bag = Readonly<Record<string, unknown>>;

const nothing: Bag = Object.freeze({});

/** The patch that restores a template, which is the data of a ControllerRevision. */
export function restoringPatch(template: PodTemplateSpec): JsonObject {
  const fields = structEntries("v1.PodTemplateSpec", template);
  return { spec: { template: sorted([...fields, ["$patch", "replace"]]) } };
}

function structEntries(name: string, value: unknown): [string, JsonValue][] {
  const bag = isRecord(value) ? value : nothing;
  return fieldsOf(name).flatMap((field) => {
    if (field.isEmbedded) return structEntries(field.type.name, bag);
    const encoded = encodeField(field, bag[field.jsonName]);
    return encoded === undefined ? [] : [[field.jsonName, encoded] as [string, JsonValue]];
  });
}

/** Undefined for values that Go omits. */
function encodeField({ type, omit }: GoField, value: unknown): JsonValue | undefined {
  if (type.name === "v1.Time" || omit === "zero") return undefined;
  if (omit === "empty" && isEmpty(type, value)) return undefined;
  return encodeValue(type, value);
}

function isEmpty(type: GoType, value: unknown): boolean {
  switch (type.kind) {
    case "struct":
      return false;
    case "pointer":
      return value === undefined || value === null;
    case "scalar":
      return value === undefined || value === null || value === type.zero;
    case "slice":
      return !Array.isArray(value) || value.length === 0;
    case "map":
      return !isRecord(value) || Object.keys(value).length === 0;
    default:
      return type satisfies never;
  }
}

function encodeValue(type: GoType, value: unknown): JsonValue {
  if (type.kind === "struct") return encodeStruct(type.name, value);
  if (type.kind === "scalar") return (value as JsonValue | undefined) ?? type.zero; // of its schema
  if (isEmpty(type, value)) return null;
  if (type.kind === "pointer") return encodeValue(type.of, value);
  if (type.kind === "slice") return (value as unknown[]).map((item) => encodeValue(type.of, item));
  const entries = Object.entries(value as Bag); // isEmpty has looked
  return sorted(entries.map(([key, item]) => [key, encodeValue(type.of, item)]));
}

function encodeStruct(name: string, value: unknown): JsonValue {
  const leaf = value as JsonValue | undefined; // of its schema
  if (name === "resource.Quantity") return leaf ?? "0";
  if (name === "intstr.IntOrString") return leaf ?? 0;
  return sorted(structEntries(name, value));
}

function sorted(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
