/**
 * The client's interface: scheduler, controllers, hollow nodes, relay, doctor and console reach the
 * API through it. It has two transports: sockets, and *direct* (the server's handler chain, called with
 * a plain-data request, bodies as frozen objects). A room cannot tell them apart.
 *
 * Refusals are thrown as ApiError (`#api/status.ts`), as the server worded them.
 */
import type { KubeObject, AnyObject } from "#api/object.ts";
import type { WatchEventType } from "#platform/http.ts";

/** A resource, such as `{ group: "apps", version: "v1", resource: "deployments" }`. */
export interface ResourceRef {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface CallOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** For an apply: takes ownership of fields from other managers. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
}

export interface ListCall {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan" | "Exact";
  readonly limit?: number;
  readonly continue?: string;
  /** Requests only `metadata`: items are PartialObjectMetadata. */
  readonly metadataOnly?: boolean;
  /** The caller does not change objects, so protobuf objects are decoded lazily, field by field. */
  readonly isReadOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface ListOf<T> {
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

export interface WatchCall {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
  /** As in ListCall. */
  readonly metadataOnly?: boolean;
  readonly isReadOnly?: boolean;
  readonly timeoutSeconds?: number;
  readonly signal: AbortSignal;
}

export interface WatchedEvent<T> {
  readonly type: WatchEventType;
  /** For ERROR: a Status. */
  readonly object: T;
  /** The object's JSON as received from a socket, if available; borrowed until `deliver` returns. */
  readonly json?: Uint8Array;
}

export interface DeleteCall extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type PatchType = "json" | "merge" | "strategic" | "apply";

export interface RawCall {
  /** Encoded, without `?`. If set, a `?` in the path is an ordinary character. */
  readonly query?: string;
  readonly signal?: AbortSignal;
  /** A longer answer is an error, and the rest of it is not read. Absent: the transport's limit. */
  readonly bodyBytesMax?: number;
}

export interface Client {
  get<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options?: CallOptions,
  ): Promise<T>;
  list<T extends KubeObject>(ref: ResourceRef, call: ListCall): Promise<ListOf<T>>;
  create<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    object: T,
    options?: CallOptions,
  ): Promise<T>;
  /** Creates through a named object's subresource: `pods/NAME/binding`, `pods/NAME/eviction`. */
  createSub(
    ref: ResourceRef,
    namespace: string,
    name: string,
    subresource: string,
    object: AnyObject,
  ): Promise<AnyObject>;
  update<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    object: T,
    options?: CallOptions,
  ): Promise<T>;
  patch<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    name: string,
    type: PatchType,
    patch: unknown,
    options?: CallOptions,
  ): Promise<T>;
  /** Resolves to the Status, or to the object whose deletion is pending, as answered by the server. */
  delete(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options?: DeleteCall,
  ): Promise<AnyObject>;
  deleteCollection(ref: ResourceRef, namespace: string, call: ListCall & DeleteCall): Promise<void>;
  /**
   * Delivers batches until the stream ends, then resolves. Rejects with ApiError when the watch cannot start.
   * `deliver` must not throw.
   */
  watch<T extends KubeObject>(
    ref: ResourceRef,
    call: WatchCall,
    deliver: (events: readonly WatchedEvent<T>[]) => void,
  ): Promise<void>;
  /** GET of a discovery or non-resource path. @returns the parsed JSON. The query follows `?`, or is in `call`. */
  raw(path: string, call?: RawCall): Promise<unknown>;
}
