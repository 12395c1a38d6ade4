/**
 * A served kind: everything the verbs need to know of one resource in one version, the same for built-ins
 * and custom resources.
 *
 * Objects exist in two versions: the one of the request and the one that is stored. Decoding and
 * defaulting happen in the first; admission, strategies and the store see the second.
 */
import type { TypeSource } from "#api/apply/updater.ts";
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import type { Printer } from "#api/printers/printer.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import type { CustomDefinition } from "./openapi/model.ts";
import type { ListBlocks } from "#server/list-body.ts";

/** What decoding found besides the object. */
export interface Checked {
  readonly object: AnyObject;
  /** `unknown field "spec.x"`, `duplicate field "y"`: warnings, or a 400 when strict. */
  readonly findings: readonly string[];
}

export interface ServedKind {
  readonly resource: ResourceInfo;
  /** `apps/v1`. */
  readonly apiVersion: string;
  /** Of what is stored; equal to apiVersion for nearly all. */
  readonly storedApiVersion: string;
  /** Absent for non-persisted kinds. */
  readonly store: ResourceStore | undefined;
  readonly blocks: ListBlocks;
  /** Checks types and drops unknown fields. @throws ApiError 400 when a type is wrong. */
  check(object: AnyObject, duplicates: JsonScan | undefined): Checked;
  /** More elements in lists than an object may have, in words; undefined: not too many. */
  overfull(object: AnyObject): string | undefined;
  applyDefaults(object: AnyObject): AnyObject;
  /** Schemas of all served versions, for managedFields. */
  readonly types: TypeSource;
  toStored(object: AnyObject): AnyObject;
  fromStored(object: AnyObject): AnyObject;
  /** Absent: the kind takes no strategic merge patch. */
  readonly strategicMerge?: (original: JsonObject, patch: unknown) => JsonValue;
  /** Absent: the kind cannot be shown as a table. */
  readonly printer?: Printer;
  /** For OpenAPI; built-ins have theirs generated. */
  readonly definitions?: readonly CustomDefinition[];
  /** PUT of a missing object creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** Field selectors beyond the built-in table. */
  readonly selectableFields: readonly string[];
}

/** Finds kinds by the path of a request. CRDs change, so callers must not keep the answer. */
export interface Catalog {
  find(group: string, version: string, resource: string): ServedKind | undefined;
  /** Every resource served now, in discovery order. */
  infos(): readonly ResourceInfo[];
}
