/** Typed access to a configuration file; as upstream, null counts as absent. */
import type { Fields } from "#api/validation/fields.ts";
import { isRecord } from "#base/is-record.ts";

/** The configuration is invalid; the text is for the operator. */
export class SettingsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SettingsError";
  }
}

const int32Most = 2 ** 31 - 1;

export function record(value: unknown, path: string): Fields {
  if (isRecord(value)) return value as Fields;
  throw mismatch(value, path, "struct");
}

/** "" when absent. */
export function text(fields: Fields, name: string, path: string): string {
  const value = own(fields, name) ?? "";
  if (typeof value === "string") return value;
  throw mismatch(value, joined(path, name), "string");
}

/** An int32; 0 when absent. */
export function number(fields: Fields, name: string, path: string): number {
  const value = own(fields, name) ?? 0;
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= int32Most)
    return value;
  throw mismatch(value, joined(path, name), "int32");
}

export function list(fields: Fields, name: string, path: string): readonly unknown[] {
  const value = own(fields, name) ?? [];
  if (Array.isArray(value)) return value as readonly unknown[];
  throw mismatch(value, joined(path, name), "slice");
}

export function texts(fields: Fields, name: string, path: string): readonly string[] {
  return list(fields, name, path).map((value, at) => {
    if (typeof value === "string") return value;
    throw mismatch(value, `${joined(path, name)}[${at}]`, "string");
  });
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function mismatch(value: unknown, path: string, type: string): SettingsError {
  const found = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  return new SettingsError(`json: cannot unmarshal ${found} into field ${path} of type ${type}`);
}
