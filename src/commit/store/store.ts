/**
 * The store's interface to upper rooms, the same for every engine.
 *
 * Revisions are dense and rising: one per mutating transaction; an empty store is at revision 1, like
 * etcd. No read, watcher or writer's answer shows a change before the change is durable.
 * History is complete from compactRevision to commitRevision.
 */
import type { Brand } from "#base/brand.ts";

/** Number of commits since the store was created, plus one; at most 2^53-1, asserted when decoding. */
export type Revision = Brand<number, "Revision">;
/** A key's bytes as a string of chars 0..255, so that string order is byte order. */
export type Key = Brand<string, "Key">;
/** Any int64; 0n means no lease. */
export type LeaseId = Brand<bigint, "LeaseId">;

export interface KeyValue {
  readonly key: Key;
  /** Shared and immutable; may be a view into a slab. */
  readonly value: Uint8Array;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
  /** Number of puts since creation, from 1. */
  readonly version: number;
  readonly lease: LeaseId;
}

/**
 * A key's version as a scan shows it: the value is `valueLength` bytes of `bytes`. It is borrowed until
 * the visitor returns, because the next key is shown in the same object.
 */
export interface VersionView {
  readonly key: Key;
  readonly bytes: Uint8Array;
  readonly valueStart: number;
  readonly valueLength: number;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
  readonly lease: LeaseId;
}

/** One change. A delete has no `kv`; `previous` is the value before the change, if there was one. */
export type StoreEvent =
  | {
      readonly kind: "put";
      readonly key: Key;
      readonly kv: KeyValue;
      readonly previous: KeyValue | undefined;
    }
  | { readonly kind: "delete"; readonly key: Key; readonly previous: KeyValue };

/** All changes of one revision: never split, never merged. */
export interface Commit {
  readonly revision: Revision;
  readonly events: readonly StoreEvent[];
}

/** Takes whole commits in revision order. Never throws, never waits. */
export interface CommitSink {
  /** @returns false when full: the sink kept nothing of the batch and will call `resume()`. */
  deliver(commits: readonly Commit[]): boolean;
  /**
   * Everything up to `revision` was delivered, although no change touched the range. Called only by a store that has
   * other writers, too.
   */
  progressed?(revision: Revision): void;
  /** The watch is over, because it needed history below `compactRevision`, which is gone. */
  compacted(compactRevision: Revision): void;
}

export interface StoreWatch {
  /** Every commit up to this one that concerns the range was delivered. */
  readonly position: Revision;
  /** The sink calls it when it has room again after refusing a batch. */
  resume(): void;
  close(): void;
}

export type Refused =
  | { readonly kind: "compacted"; readonly compactRevision: Revision }
  | { readonly kind: "future"; readonly commitRevision: Revision };

export type GetResult =
  | { readonly kind: "found"; readonly kv: KeyValue }
  | { readonly kind: "missing" }
  | Refused;

export type RangeResult =
  | {
      readonly kind: "ok";
      readonly kvs: readonly KeyValue[];
      /** Number of keys in the whole range at that revision, regardless of the limit. */
      readonly count: number;
      readonly more: boolean;
      /** The revision that was read. */
      readonly revision: Revision;
    }
  | Refused;

export interface RangeRequest {
  readonly start: Key;
  /** Exclusive; etcd's special "\0" range ends are handled by the etcd room. */
  readonly end: Key;
  readonly at?: Revision;
  /** Absent: no limit. */
  readonly limit?: number;
}

export type PutResult =
  | {
      readonly kind: "committed";
      readonly revision: Revision;
      readonly previous: KeyValue | undefined;
    }
  /** The guard did not hold. `actual` is the current value, which saves the caller a read. */
  | { readonly kind: "conflict"; readonly actual: KeyValue | undefined }
  | WriteRefused;

export type DeleteResult =
  | { readonly kind: "committed"; readonly revision: Revision; readonly previous: KeyValue }
  | { readonly kind: "missing" }
  | { readonly kind: "conflict"; readonly actual: KeyValue | undefined }
  | WriteRefused;

export type WriteRefused =
  /** The value or database limit is exceeded; nothing was written. */
  | { readonly kind: "no-space"; readonly message: string }
  | { readonly kind: "too-large"; readonly message: string }
  | { readonly kind: "lease-not-found" }
  /** A disk or cluster failure stopped the store before the outcome was known. */
  | { readonly kind: "stopped"; readonly message: string };

/** Holds when the key's modRevision equals `modRevision`; 0 means that the key does not exist. */
export interface Guard {
  readonly modRevision: Revision | 0;
}

export interface Store {
  /** Highest durable revision, which readers and watchers may see. */
  readonly commitRevision: Revision;
  readonly compactRevision: Revision;
  /**
   * Resolves to the newest revision that any writer of this storage has committed by now. Absent: it is
   * `commitRevision`, because there are no other writers. Rejects when the storage does not answer.
   */
  latest?(): Promise<Revision>;
  get(key: Key, at?: Revision): GetResult;
  /** `limit` 0 returns only the count. */
  range(request: RangeRequest): RangeResult;
  /** `value` is borrowed until the promise settles. */
  put(
    key: Key,
    value: Uint8Array,
    options: { readonly guard?: Guard; readonly lease?: LeaseId },
  ): Promise<PutResult>;
  delete(key: Key, options: { readonly guard?: Guard }): Promise<DeleteResult>;
  /**
   * Delivers commits after `after` that touch [start, end), reduced to the events in that range: first history, in
   * order, then live commits. If `after` < compactRevision, calls `compacted` instead.
   * The sink is first called in a microtask after this call has returned, and live commits arrive before the
   * writer's promise resolves.
   */
  watch(
    range: { readonly start: Key; readonly end: Key },
    after: Revision,
    sink: CommitSink,
  ): StoreWatch;
  /** Whether a write would store the value in another form now (at-rest.ts). Absent: never. */
  isStale?(key: Key): boolean;
  compact(revision: Revision): Promise<{ readonly kind: "ok" } | Refused>;
  /** Deletes of expired keys are ordinary commits. @returns the lease, which lives for `ttlSeconds`. */
  grantLease(ttlSeconds: number): Promise<LeaseId>;
  /** Resolves once every accepted write has settled and the files are closed. */
  close(): Promise<void>;
}
