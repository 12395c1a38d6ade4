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
  /** Names what `fromStored` makes, in caches of encodings: another text whenever it would make another object. */
  readonly formKey: string;
  /** Whether the stored bytes are the object as this kind shows it. */
  isAsStored(cached: CachedObject): boolean;
  /** Absent for non-persisted kinds. */
  readonly store: ResourceStore | undefined;
  readonly blocks: ListBlocks;
  /** Checks types and drops unknown fields. @throws ApiError 400 when a type is wrong. */
  check(object: AnyObject, duplicates: JsonScan | undefined): Checked;
  /** More elements in lists than an object may have, in words; undefined: not too many. */
  overfull(object: AnyObject): string | undefined;
  applyDefaults(object: AnyObject): AnyObject;
  /** Schemas of all served versions, for managedFields; asked once. */
  types(): ApplyTypes;
  toStored(object: AnyObject): AnyObject;
  /** Leaves an object alone that is as this kind shows it. */
  fromStored(object: AnyObject): AnyObject;
  /** A stored object as this kind shows it; shared, never changed. */
  show(cached: CachedObject): AnyObject;
  /** The same as JSON. */
  json(cached: CachedObject): Uint8Array;
  /** What `show` and `json` need first. Absent: nothing. */
  readonly prepared?: Preparation;
  /** An object of any version in another one. Absent: that takes no time, `fromStored` and `types` do it. */
  convert?(object: AnyObject, apiVersion: string): Promise<AnyObject>;
  /** Absent: the kind takes no strategic merge patch. */
  readonly strategicMerge?: (original: JsonObject, patch: unknown) => JsonValue;
  /** Absent: the kind cannot be shown as a table. */
  readonly printer?: Printer;
  /** PUT of a missing object creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** Field selectors beyond the built-in table. */
  readonly selectableFields: readonly string[];
  /** What a custom resource brings besides; absent for built-ins. */
  readonly custom?: CustomFacts;
}

/** Objects that take time to be shown: somebody else converts them. */
interface Preparation {
  isReady(cached: CachedObject): boolean;
  /** All of them are ready until the result is disposed of. Rejects with ApiError. */
  hold(objects: readonly CachedObject[]): Promise<Disposable>;
}

/** What only custom resources have. */
export interface CustomFacts {
  /** Absent: no scale. */
  readonly scale?: ScaleAccess;
  /** Of a deprecated version: for every request. */
  readonly warning?: string;
  /** Nothing is created while the definition goes. */
  readonly isTerminating: boolean;
  /** The watches of this kind, which end with the definition they were opened under. */
  readonly watches: WatchRegister;
}

export interface ScaleAccess {
  /** Of the replicas in an object: `spec`, `replicas`. */
  readonly path: readonly string[];
  /** The same in any version. */
  readonly pathOf: ReplicasPath;
  /** @throws ApiError 500, 400 when the object holds no number where its definition says. */
  read(object: AnyObject): AnyObject;
  /** The same for who writes it next: a number that is missing says so. */
  readForUpdate(object: AnyObject): AnyObject;
  write(object: AnyObject, scale: AnyObject): AnyObject;
}

/** Kinds that are defined by objects. They change while the server runs; what is asked is answered as of now. */
export interface CustomKinds {
  find(group: string, version: string, resource: string): ServedKind | undefined;
  infos(): readonly ResourceInfo[];
  definitions(): readonly CustomDefinition[];
  /** Objects in the caches there are, by `RESOURCE.GROUP`; a kind that nobody used has none. */
  counts(): Iterable<readonly [string, number]>;
}

/** Finds kinds by the path of a request. CRDs change, so callers must not keep the answer. */
export interface Catalog {
  find(group: string, version: string, resource: string): ServedKind | undefined;
  /** Every resource served now. */
  infos(): readonly ResourceInfo[];
}
