/** The limits of a store. */
import type { LocalEngineOptions } from "./engines/local/engine.ts";

/** Limits of the store. There are no defaults here: `cmd` decides, and tests set what they need. */
export interface StoreOptions {
  /** A larger value is refused as `too-large`. At most 512 MiB, because record sizes are 32-bit. */
  readonly valueBytesMax: number;
  /** Limit of state and uncompacted history together, headers included; a put beyond it is `no-space`. */
  readonly quotaBytes: number;
  /** Limit of the current state, for stores whose readers keep it in a heap. Absent: `quotaBytes` is the only limit. */
  readonly stateQuota?: StateQuota;
  /** Maximum bytes per commit (a single larger record gets a commit of its own) ... */
  readonly batchBytesMax: number;
  /** ... and maximum records per commit; further ones wait, in order, for the next batch. */
  readonly batchItemsMax: number;
  /** Values share off-heap slabs of this size; a larger record gets its own slab. */
  readonly slabBytes: number;
  /** Commits delivered at once to a sink that catches up, which also bounds the history scanned per turn. */
  readonly watchBatchCommitsMax: number;
  /** Maximum number of active leases; `grantLease` rejects beyond it. */
  readonly leasesMax: number;
}

/**
 * Quota that counts the newest versions only. At either limit a put of a new key is `no-space`. A put of an existing
 * key may still make the state an eighth larger than `bytesMax`, so that existing objects can be marked, finished and
 * deleted.
 */
export interface StateQuota {
  readonly keysMax: number;
  readonly bytesMax: number;
}

/** The defaults of `cmd`, also suitable for tests. */
export const recommendedOptions = {
  // etcd's request limit, which clients of Kubernetes expect.
  valueBytesMax: 1.5 * 2 ** 20,
  // etcd's suggested maximum.
  quotaBytes: 8 * 2 ** 30,
  // Writing 1 MiB takes about as long as the sync that follows it.
  batchBytesMax: 2 ** 20,
  batchItemsMax: 4096,
  slabBytes: 2 ** 20,
  watchBatchCommitsMax: 1024,
  leasesMax: 1_000_000,
  // For engine "local".
  segmentBytes: 16 * 2 ** 20,
  // Replayed in about 250 ms.
  checkpointLogBytes: 256 * 2 ** 20,
  freeBytesMin: 256 * 2 ** 20,
} as const satisfies StoreOptions & Omit<LocalEngineOptions, "directory">;
