/** The limits of a store. */
import type { LocalEngineOptions } from "./engines/local/engine.ts";

/** Limits of the store. None has a default in here: `cmd` decides, tests say what they mean. */
export interface StoreOptions {
  /** A larger value is refused as `too-large`. At most 512 MiB (record sizes are 32-bit). */
  readonly valueBytesMax: number;
  /** State and uncompacted history together, headers included; a put beyond it is `no-space`. */
  readonly quotaBytes: number;
  /** What is held for readers besides: of a store whose readers keep it in a heap. Absent: no more than `quotaBytes`. */
  readonly stateQuota?: StateQuota;
  /** A commit takes at most this many bytes (one record may exceed it alone) ... */
  readonly batchBytesMax: number;
  /** ... and at most this many records; further ones wait, in order, for the next batch. */
  readonly batchItemsMax: number;
  /** Values share off-heap slabs of this size; a larger record gets one of its own. */
  readonly slabBytes: number;
  /** Commits handed to a sink at once while it catches up, and the history looked through per turn. */
  readonly watchBatchCommitsMax: number;
  /** Leases alive at once; `grantLease` rejects beyond. */
  readonly leasesMax: number;
}

/**
 * The newest versions alone. At either a put of a new key is `no-space`; one of a key that is there may still make the
 * state an eighth larger than `bytesMax`, so that what is there can be marked, finished and deleted.
 */
export interface StateQuota {
  readonly keysMax: number;
  readonly bytesMax: number;
}

/** What `cmd` uses unless told otherwise, and a fair choice for tests. */
export const recommendedOptions = {
  // etcd's request limit, which clients of Kubernetes expect.
  valueBytesMax: 1.5 * 2 ** 20,
  // etcd's suggested ceiling.
  quotaBytes: 8 * 2 ** 30,
  // One write of 1 MiB costs about as much as the sync that follows it.
  batchBytesMax: 2 ** 20,
  batchItemsMax: 4096,
  slabBytes: 2 ** 20,
  watchBatchCommitsMax: 1024,
  leasesMax: 1_000_000,
  // For engine "local".
  segmentBytes: 16 * 2 ** 20,
  // Replays in about a quarter of a second.
  checkpointLogBytes: 256 * 2 ** 20,
  freeBytesMin: 256 * 2 ** 20,
} as const satisfies StoreOptions & Omit<LocalEngineOptions, "directory">;
