/**
 * Tables: `as=Table` of one object or a list, the form kubectl prints. Rows hold ages, so they are
 * made per answer; watches share a row among watchers of the same second (watch-format.ts).
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

/** @throws ApiError 400 for an unknown policy. */
export function includeObject(query: URLSearchParams): IncludeObject {
  const text = query.get("includeObject") ?? "";
  const policy = parseIncludeObject(text);
  if (policy !== undefined) return policy;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(text)}`);
}

/** `objects` in the version of the request. The kind has a printer: negotiation saw to it. */
export function tableOf(
  { printer }: { readonly printer?: Printer | undefined },
  version: MetaVersion,
  objects: readonly AnyObject[],
  options: Omit<TableOptions, "apiVersion">,
): Table {
  assert(printer !== undefined, "a table of a kind without printer");
  return tableFor(printer, objects, { ...options, apiVersion: `meta.k8s.io/${version}` });
}

/** Rows of such a table, one by one. */
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

/** Metadata only, as an object of kind PartialObjectMetadata. */
export function partial(object: AnyObject, version: MetaVersion): AnyObject {
  return { ...partialObjectMetadata(object, `meta.k8s.io/${version}`) };
}

/** The metadata of a stored object: conversion changes only a custom object's. */
export function partialOf(kind: ServedKind, cached: CachedObject, version: MetaVersion): AnyObject {
  return partial(kind.custom === undefined ? cached.object : kind.show(cached), version);
}

/** Names this form of an object in caches: a custom object's metadata may be another in each version. */
export function metadataKey({ custom, formKey }: ServedKind, version: MetaVersion): string {
  return custom === undefined ? `pom.${version}` : `pom.${version}.${formKey}`;
}

export function metadataType(version: MetaVersion): TypeMeta {
  return { apiVersion: `meta.k8s.io/${version}`, kind: "PartialObjectMetadata" };
}
