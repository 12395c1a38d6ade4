/**
 * The full interface of an opened store: what `cmd` needs, plus what only the etcd API needs: several keys
 * in one transaction, leases in full, every version, snapshots.
 */
import type { CommitStats, ObserveCommit } from "./commit.ts";
import type { EngineStats } from "./engines/engine.ts";
import type { LeaseInfo } from "./leases.ts";
import type { StateQuota } from "./options.ts";
import type { StoredVersion } from "./stored-versions.ts";
import type {
  CommitSink,
  Key,
  LeaseId,
  RangeRequest,
  Refused,
  Revision,
  Store,
  StoreWatch,
  VersionView,
  WriteRefused,
} from "./store.ts";
import type { Transaction } from "./transaction.ts";
import type { WatchStats } from "./watches.ts";

/** Lease and compaction calls, which have no result for a refusal, reject with this once the store has stopped. */
export class StoreStoppedError extends Error {
  constructor(cause: Error) {
    super(`the store has stopped: ${cause.message}`, { cause });
    this.name = "StoreStoppedError";
  }
}

export interface StoreStats {
  readonly keys: number;
  readonly versions: number;
  readonly leases: number;
  /** Bytes that count towards the quota. */
  readonly bytes: number;
  /** The part of `bytes` that compaction will free: older versions and deletes. */
  readonly historyBytes: number;
  /** Number of existing keys; deleted keys in the history do not count. */
  readonly stateKeys: number;
  readonly slabHeldBytes: number;
  readonly slabLiveBytes: number;
  readonly commits: CommitStats;
  readonly watches: WatchStats;
  readonly engine: EngineStats;
  /** The quota in effect; absent: none. */
  readonly stateQuota?: StateQuota;
}

/** A Store with the additional operations that `cmd` needs. */
export interface OpenedStore extends Store {
  /** Resolves, never rejects, when a disk or cluster failure stopped the store; the process should then end. */
  readonly failed: Promise<Error>;
  /** Why the store cannot answer at present; undefined: it can, or it has `failed`. */
  problem(): string | undefined;
  stats(): StoreStats;
  /** For a store kept by another server: `observe` is called for each request to it. */
  observeRequests?(observe: ObserveRequest): void;
  /** For a store with its own log: `observe` is called for each batch. */
  observeCommits?(observe: ObserveCommit): void;
}

/** Called whether the request failed or not. `key`: the key it concerned, if any. */
export type ObserveRequest = (
  operation: StoreOperation,
  key: Key | undefined,
  seconds: number,
) => void;

/** `get` reads the newest revision. */
export type StoreOperation = "get" | "create" | "update" | "delete";

/** The state at one revision as the bytes of a checkpoint file, chunk by chunk. */
export interface StoreSnapshot {
  readonly revision: number;
  /** Approximate size in bytes. */
  readonly bytes: number;
  /** Borrowed until the next call; undefined: the end. */
  next(): Uint8Array | undefined;
  /** Allows compaction to continue. Must be called in any case. */
  close(): void;
}

/** An OpenedStore with operations that only the etcd API needs: many keys at once, full access to leases. */
export interface FullStore extends OpenedStore {
  /** Runs `run` once, synchronously, in its turn among the writes; resolves when everything it read is durable. */
  transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused>;
  /** Like `range`, key by key: `visit` is called up to the limit, until it returns false. */
  scan(
    request: RangeRequest,
    visit: (view: VersionView) => boolean | void,
  ): { readonly kind: "ok"; readonly count: number } | Refused;
  /** Like `watch`, starting after the revision before `start`, which may be the compacted revision itself. */
  watchFrom(
    range: { readonly start: Key; readonly end: Key },
    start: Revision,
    sink: CommitSink,
  ): StoreWatch;
  /** @returns false when a lease with this id exists. Rejects like `grantLease`. */
  grantLeaseAs(id: LeaseId, ttlSeconds: number): Promise<boolean>;
  /** Ends the lease and deletes its keys in one revision. @returns false when it does not exist. */
  revokeLease(id: LeaseId): Promise<boolean>;
  /** Restarts the lease's time. @returns false when it does not exist. */
  renewLease(id: LeaseId): boolean;
  lease(id: LeaseId): LeaseInfo | undefined;
  /** Attached keys, sorted. Includes changes that are not durable yet: report it only after `settled` resolves. */
  leaseKeys(id: LeaseId): readonly Key[];
  leases(): readonly LeaseInfo[];
  /** Resolves once everything sequenced so far is durable; rejects when that cannot happen. */
  settled(): Promise<void>;
  /** Every version up to `revision` that is held, in order. O(versions); for checks. */
  versions(revision: number): readonly StoredVersion[];
  /** The current state. Compaction keeps what it needs until it is closed. */
  snapshot(): StoreSnapshot;
}
