/**
 * The registry's interface to objects of one stored resource, above keys and revisions, below HTTP.
 *
 * A write names the revision it read; a read is at least as new as its caller requested. A write
 * resolves only after the cache holds it, so a client that got the answer can read it back everywhere.
 * Expected refusals are thrown as ApiError (`#api/status.ts`): not found, conflict, expired, too large
 * resource version (504 + cause ResourceVersionTooLarge), invalid.
 */
import type { Pace } from "#platform/pace.ts";
import type { AnyObject } from "#api/object.ts";
import type { FieldSelector } from "#api/selectors/field-selector.ts";
import type { LabelSelector } from "#api/selectors/label-selector.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Strategy } from "#api/strategies/strategy-types.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";

export type { WatchItem, WatchSink };

export interface ReadOptions {
  /** As sent by the client; "" or absent: most recent; "0": any. */
  readonly resourceVersion?: string;
}

/** Validating admission; runs after strategy and validation, before the store. Throws ApiError. */
type Admit = (next: AnyObject | undefined, old: AnyObject | undefined) => void | Promise<void>;

export interface WriteOptions {
  /** Does everything except storing. */
  readonly dryRun: boolean;
  readonly admit?: Admit;
  /** Called with texts for Warning headers. */
  readonly warn?: (text: string) => void;
  /** Yields between steps over large objects; absent: never. */
  readonly pace?: Pace;
}

export interface UpdateOptions extends WriteOptions {
  /** Selects the strategy's rules: "" for the object itself, otherwise `status`, `scale` ... */
  readonly subresource: string;
  /** If set, a missing object is created (PUT of a kind that allows it, server-side apply). */
  readonly createIfMissing?: boolean;
  /** Called at each attempt with the size of the current object before it is read. May throw. */
  charge?(bytes: number): void;
}

/**
 * Makes the wanted object from the current one (frozen, resourceVersion set), or throws ApiError.
 * Called again with a newer `current` when another write came first. Exception: if the returned object
 * carries a resourceVersion of its own, that must match, or the update is a 409.
 */
export type Transform = (current: AnyObject | undefined) => AnyObject | Promise<AnyObject>;

export interface UpdateResult {
  readonly object: CachedObject;
  /** The object did not exist before: HTTP 201. */
  readonly isCreated: boolean;
  /** The update removed the last finalizer of an object being deleted, which is now gone. */
  readonly isDeleted: boolean;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | bigint;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type DeleteResult =
  /** The object was removed; `object` is its last state. */
  | { readonly kind: "deleted"; readonly object: CachedObject }
  /** deletionTimestamp is set; finalizers or a grace period keep the object. */
  | { readonly kind: "pending"; readonly object: CachedObject };

export interface ListOptions {
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan" | "Exact" | "";
  /** 0 or absent: no limit. */
  readonly limit?: number;
  readonly continue?: string;
  /** Yields between the steps of a long scan; absent: one pass. */
  readonly pace?: Pace;
}

export interface ListPage {
  readonly items: readonly CachedObject[];
  /** resourceVersion of the snapshot. */
  readonly resourceVersion: string;
  readonly continue?: string;
  /** Set only when more items remain and no selector was given. */
  readonly remainingItemCount?: number;
  /** Read from the store, because no cache reaches back to its revision. */
  readonly isFromStore?: true;
}

export interface WatchOptions {
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  readonly resourceVersion?: string;
  readonly sendInitialEvents?: boolean;
  readonly allowBookmarks: boolean;
  /** Returns the predicate to be kept while the watch is open; may throw. Absent: the predicate is kept as it is. */
  readonly keep?: (predicate: Predicate) => Predicate;
}

export interface ResourceWatch {
  resume(): void;
  /** Sends a bookmark at the current position, if the client allowed bookmarks. */
  bookmark(): void;
  close(): void;
}

export interface ResourceStore {
  readonly info: ResourceInfo;
  /** `namespace` "" for cluster-scoped resources. */
  get(namespace: string, name: string, options: ReadOptions): Promise<CachedObject>;
  create(namespace: string, object: AnyObject, options: WriteOptions): Promise<CachedObject>;
  update(
    namespace: string,
    name: string,
    transform: Transform,
    options: UpdateOptions,
  ): Promise<UpdateResult>;
  delete(
    namespace: string,
    name: string,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<DeleteResult>;
  /** `namespace` "" lists all namespaces. */
  list(namespace: string, options: ListOptions): Promise<ListPage>;
  /**
   * Rejects with ApiError when the watch cannot start (bad or too large resourceVersion). The sink
   * may be called before the promise resolves; a watch below history ends at once with 410.
   */
  watch(namespace: string, options: WatchOptions, sink: WatchSink): Promise<ResourceWatch>;
  /** Reads the cache synchronously; includes at least the last write that this store answered. */
  peek(namespace: string, name: string): CachedObject | undefined;
  /** The same for a list in key order; `namespace` "" for all. */
  peekList(namespace: string): readonly CachedObject[];
  /** Number of objects in the cache; used for metrics and cost estimates. */
  readonly size: number;
}

/**
 * Rules that the definition of a custom resource gives to its store. Callers work in the version of
 * `info`; `codec` converts between that version and the stored one.
 */
export interface ResourceRules {
  readonly strategy: Strategy;
  /**
   * Called in the turn in which a write goes to the store. Throws ApiError when the definition that the write
   * is based on has changed. The returned function is called with the write's revision, 0 when the write failed.
   */
  readonly beginWrite: (isCreation: boolean) => (revision: number) => void;
  readonly codec: StorageCodec;
}

interface StorageCodec {
  /** A stored object in the version of this store's callers, with its resourceVersion. */
  read(cached: CachedObject): AnyObject | Promise<AnyObject>;
  /** The object in its storage version. */
  write(object: AnyObject): AnyObject | Promise<AnyObject>;
}

/** All resource stores of one server, by storage group and resource. */
export interface Registry {
  /** `rules`: those of a custom resource; absent: the built-in tables. */
  store(info: ResourceInfo, rules?: ResourceRules): ResourceStore;
  /** Resolves once every cache has its first snapshot. */
  ready(): Promise<void>;
  close(): Promise<void>;
}
