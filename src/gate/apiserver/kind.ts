/**
 * A served kind: everything the verbs need to know of one resource in one version, the same for built-ins
 * and custom resources.
 *
 * Objects exist in two versions: the one of the request and the one that is stored. Decoding and
 * defaulting happen in the first; admission, strategies and the store see the second.
 */
import type { ReplicasPath } from "#api/apply/scale-managers.ts";
import type { ApplyTypes } from "#api/apply/updater.ts";
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import type { Printer } from "#api/printers/printer.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import type { CustomDefinition } from "./openapi/model.ts";
import type { ListBlocks } from "#forms/list-body.ts";
import type { WatchRegister } from "#server/watch-stream.ts";
import type { CachedObject } from "#forms/cached-object.ts";

/** The checked object and the findings of its decoding. */
export interface Checked {
  readonly object: AnyObject;
  /** `unknown field "spec.x"`, `duplicate field "y"`: warnings, or a 400 when strict. */
  readonly findings: readonly string[];
}

export interface ServedKind {
  readonly resource: ResourceInfo;
  /** Group and version: `apps/v1`. */
  readonly apiVersion: string;
  /** Key of the form that `fromStored` makes, in caches of encodings. It changes whenever the form would change. */
  readonly formKey: string;
  /** Whether the stored bytes equal the object as this kind shows it. */
  isAsStored(cached: CachedObject): boolean;
  /** Absent for non-persisted kinds. */
  readonly store: ResourceStore | undefined;
  readonly blocks: ListBlocks;
  /** Checks types and drops unknown fields. @throws ApiError 400 when a type is wrong. */
  check(object: AnyObject, duplicates: JsonScan | undefined): Checked;
  /** @returns a text when the object's lists have more elements than allowed; undefined otherwise. */
  overfull(object: AnyObject): string | undefined;
  applyDefaults(object: AnyObject): AnyObject;
  /** Schemas of all served versions, for managedFields; called once. */
  types(): ApplyTypes;
  toStored(object: AnyObject): AnyObject;
  /** Converts a stored object to this kind's form. An object in that form is returned unchanged. */
  fromStored(object: AnyObject): AnyObject;
  /** Returns a stored object in this kind's form; it is shared and must not be changed. */
  show(cached: CachedObject): AnyObject;
  /** Returns a stored object in this kind's form, as JSON. */
  json(cached: CachedObject): Uint8Array;
  /** Prepares objects for `show` and `json`. Absent: they need no preparation. */
  readonly prepared?: Preparation;
  /** Converts an object between versions. Absent: conversion needs no call, and `fromStored` and `types` do it. */
  convert?(object: AnyObject, apiVersion: string): Promise<AnyObject>;
  /** Applies a strategic merge patch. Absent: the kind does not support it. */
  readonly strategicMerge?: (original: JsonObject, patch: unknown) => JsonValue;
  /** Absent: the kind cannot be shown as a table. */
  readonly printer?: Printer;
  /** Whether a PUT of a missing object creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** Fields that field selectors may use, beyond the built-in table. */
  readonly selectableFields: readonly string[];
  /** Properties that only custom resources have. Absent: a built-in kind. */
  readonly custom?: CustomFacts;
}

/** Asynchronous conversion of objects before they can be shown; a webhook converts them. */
interface Preparation {
  isReady(cached: CachedObject): boolean;
  /** Prepares all objects and keeps them ready until the result is disposed of. Rejects with ApiError. */
  hold(objects: readonly CachedObject[]): Promise<Disposable>;
}

/** Properties that only custom resources have. */
export interface CustomFacts {
  /** Access to the scale subresource. Absent: the kind has none. */
  readonly scale?: ScaleAccess;
  /** Warning for every request to a deprecated version. Absent: the version is not deprecated. */
  readonly warning?: string;
  /** Whether the definition is being deleted; then no objects can be created. */
  readonly isTerminating: boolean;
  /** Open watches of this kind. They end with the definition they were opened under. */
  readonly watches: WatchRegister;
}

export interface ScaleAccess {
  /** Path of the replicas in an object: `spec`, `replicas`. */
  readonly path: readonly string[];
  /** Path of the replicas in an object of a given version. */
  readonly pathOf: ReplicasPath;
  /** Reads the Scale of an object. @throws ApiError 500, 400 when the number at a defined path is not a number. */
  read(object: AnyObject): AnyObject;
  /** Reads the Scale for an update; a missing number is an error. */
  readForUpdate(object: AnyObject): AnyObject;
  write(object: AnyObject, scale: AnyObject): AnyObject;
}

/** Kinds that are defined by objects. They change at run time, and each call answers for the current state. */
export interface CustomKinds {
  find(group: string, version: string, resource: string): ServedKind | undefined;
  infos(): readonly ResourceInfo[];
  definitions(): readonly CustomDefinition[];
  /** Number of objects in each open cache. By key: `RESOURCE.GROUP`. A kind that was never used has no cache. */
  counts(): Iterable<readonly [string, number]>;
}

/** Finds kinds by the path of a request. CRDs change, so callers must not keep the answer. */
export interface Catalog {
  find(group: string, version: string, resource: string): ServedKind | undefined;
  /** All resources served at present. */
  infos(): readonly ResourceInfo[];
}
