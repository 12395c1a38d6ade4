/**
 * Reads fields of objects that nobody validated for us: what has another type than expected is as good as absent.
 * RouteGroups in particular are validated by their definition only, if at all.
 */
import { isRecord } from "#base/is-record.ts";

export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = {};

export function recordAt(value: unknown, name: string): Fields {
  const at = isRecord(value) ? value[name] : undefined;
  return isRecord(at) ? at : none;
}

export function textAt(value: unknown, name: string): string {
  const at = isRecord(value) ? value[name] : undefined;
  return typeof at === "string" ? at : "";
}

export function numberAt(value: unknown, name: string): number {
  const at = isRecord(value) ? value[name] : undefined;
  return typeof at === "number" ? at : 0;
}

export function recordsAt(value: unknown, name: string): readonly Fields[] {
  const at = isRecord(value) ? value[name] : undefined;
  return Array.isArray(at) ? at.filter(isRecord) : [];
}

export function textsAt(value: unknown, name: string): readonly string[] {
  const at = isRecord(value) ? value[name] : undefined;
  return Array.isArray(at) ? at.filter((one): one is string => typeof one === "string") : [];
}

/** Returns the entries of a map whose values are texts. */
function textMapAt(value: unknown, name: string): ReadonlyMap<string, string> {
  const entries = Object.entries(recordAt(value, name));
  return new Map(entries.filter((one): one is [string, string] => typeof one[1] === "string"));
}

export interface Meta {
  readonly namespace: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** Returns the metadata of an object; without a namespace, as in a file of objects, it is in `default`. */
export function metaOf(object: unknown): Meta {
  const metadata = recordAt(object, "metadata");
  return {
    namespace: textAt(metadata, "namespace") || "default",
    name: textAt(metadata, "name"),
    labels: textMapAt(metadata, "labels"),
    annotations: textMapAt(metadata, "annotations"),
  };
}
