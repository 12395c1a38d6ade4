/**
 * Tables: the form that kubectl prints, `as=Table`, of one object or a list. Rows contain ages, so they are made for
 * each answer. Watchers share a row within the same second (watch-format.ts).
 */
import { partialObjectMetadata } from "#api/convert/convert.ts";
import type { AnyObject } from "#api/object.ts";
import type { Printer } from "#api/printers/printer.ts";
import { badRequest } from "#api/status.ts";
import {
  type IncludeObject,
  parseIncludeObject,
  type Table,
  tableFor,
  type TableOptions,
  tableRow,
  type TableRow,
} from "#api/printers/table.ts";
import { assert } from "#base/assert.ts";
import type { TypeMeta } from "#forms/protobuf/envelope.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { ServedKind } from "./kind.ts";

export type MetaVersion = "v1" | "v1beta1";

/** Parses the policy. @throws ApiError 400 for an unknown one. */
export function includeObject(query: URLSearchParams): IncludeObject {
  const text = query.get("includeObject") ?? "";
  const policy = parseIncludeObject(text);
  if (policy !== undefined) return policy;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(text)}`);
}

/** Table of `objects`, which are in the request's version. The kind has a printer: negotiation checked that. */
export function tableOf(
  { printer }: { readonly printer?: Printer | undefined },
  version: MetaVersion,
  objects: readonly AnyObject[],
  options: Omit<TableOptions, "apiVersion">,
): Table {
  assert(printer !== undefined, "a table of a kind without printer");
  return tableFor(printer, objects, { ...options, apiVersion: `meta.k8s.io/${version}` });
}

/** Returns a function that makes single rows of such a table. */
export function rowMaker(
  kind: ServedKind,
  version: MetaVersion,
  options: Omit<TableOptions, "apiVersion">,
): (object: AnyObject) => TableRow {
  const { printer } = kind;
  assert(printer !== undefined, "a row of a kind without printer", { kind: kind.resource.kind });
  const all = { ...options, apiVersion: `meta.k8s.io/${version}` } as const;
  return (object) => tableRow(printer, object, all);
}

/** Returns the metadata as an object of kind PartialObjectMetadata. */
export function partial(object: AnyObject, version: MetaVersion): AnyObject {
  return { ...partialObjectMetadata(object, `meta.k8s.io/${version}`) };
}

/** Returns the metadata of a stored object; only a custom object must be converted for it. */
export function partialOf(kind: ServedKind, cached: CachedObject, version: MetaVersion): AnyObject {
  return partial(kind.custom === undefined ? cached.object : kind.show(cached), version);
}

/** Key of this form in caches; a custom object's metadata may differ between versions. */
export function metadataKey({ custom, formKey }: ServedKind, version: MetaVersion): string {
  return custom === undefined ? `pom.${version}` : `pom.${version}.${formKey}`;
}

export function metadataType(version: MetaVersion): TypeMeta {
  return { apiVersion: `meta.k8s.io/${version}`, kind: "PartialObjectMetadata" };
}
