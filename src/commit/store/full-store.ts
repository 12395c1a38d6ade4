/**
 * The full interface of an opened store: what `cmd` needs, and what only the etcd API needs - several keys
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

/** A call that has no refusal of its own (lease, compaction) rejects with this once stopped. */
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
  /** What the quota counts. */
  readonly bytes: number;
  /** Of them, what compaction will forget: older versions, and deletes. */
  readonly historyBytes: number;
  /** Keys that are there: without those that were deleted and are history. */
  readonly stateKeys: number;
  readonly slabHeldBytes: number;
  readonly slabLiveBytes: number;
  readonly commits: CommitStats;
  readonly watches: WatchStats;
  readonly engine: EngineStats;
  /** Of the store as it runs; absent: none. */
  readonly stateQuota?: StateQuota;
}

/** A Store with what `cmd` needs besides. */
export interface OpenedStore extends Store {
  /** Resolves, never rejects, when a world failure stopped the store: end the process. */
  readonly failed: Promise<Error>;
  /** Why it does not answer at present. Undefined: it does, or it has `failed`. */
  problem(): string | undefined;
  stats(): StoreStats;
  /** Of a store that another server keeps: `observe` hears of each request to it from now on. */
  observeRequests?(observe: ObserveRequest): void;
  /** Of a store that appends to a log of its own: `observe` hears of each batch from now on. */
  observeCommits?(observe: ObserveCommit): void;
}

/** `key`: what it was about, if anything; whether it failed or not. */
export type ObserveRequest = (
  operation: StoreOperation,
  key: Key | undefined,
  seconds: number,
) => void;

/** `get`: the newest revision. */
export type StoreOperation = "get" | "create" | "update" | "delete";

/** The state at one revision as the bytes of a checkpoint file, chunk by chunk. */
export interface StoreSnapshot {
  readonly revision: number;
  /** About how many bytes it will be. */
  readonly bytes: number;
  /** Borrowed until the next call; undefined: that was all. */
  next(): Uint8Array | undefined;
  /** Lets compaction go on. Call it in any case. */
  close(): void;
}

/** An OpenedStore with what only the etcd API asks for: many keys at once, leases in full. */
export interface FullStore extends OpenedStore {
  /** Runs once, synchronously, in its turn among the writes; resolves when what it saw is durable. */
  transact<Answer>(
    run: (transaction: Transaction) => Answer,
  ): Promise<{ readonly kind: "done"; readonly answer: Answer } | WriteRefused>;
  /** As `range`, key by key: `visit` sees those up to the limit, until it returns false. */
  scan(
    request: RangeRequest,
    visit: (view: VersionView) => boolean | void,
  ): { readonly kind: "ok"; readonly count: number } | Refused;
  /** As `watch` after the revision before `start`, which may be the compacted revision itself. */
  watchFrom(
    range: { readonly start: Key; readonly end: Key },
    start: Revision,
    sink: CommitSink,
  ): StoreWatch;
  /** @returns false when a lease of this id is there. Rejects as `grantLease` does. */
  grantLeaseAs(id: LeaseId, ttlSeconds: number): Promise<boolean>;
  /** Ends it and deletes its keys in one revision. @returns false when there is none. */
  revokeLease(id: LeaseId): Promise<boolean>;
  /** Its time starts anew. @returns false when there is no such lease. */
  renewLease(id: LeaseId): boolean;
  lease(id: LeaseId): LeaseInfo | undefined;
  /** Attached keys, sorted. Of leases all is as sequenced: tell it only once `settled` resolves. */
  leaseKeys(id: LeaseId): readonly Key[];
  leases(): readonly LeaseInfo[];
  /** Resolves once all that was sequenced so far is durable; rejects when that cannot be. */
  settled(): Promise<void>;
  /** Every version held up to `revision`, in order. O(versions); for checks. */
  versions(revision: number): readonly StoredVersion[];
  /** The state as of now. What it needs is kept from compaction until it is closed. */
  snapshot(): StoreSnapshot;
}
