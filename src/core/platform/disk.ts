/**
 * The disk as the store needs it: positioned writes, sync, list, rename, exclusive lock.
 * `platform/node/disk.ts` is the host's; `testing/disk.ts` loses, tears and reorders what was not synced.
 *
 * Every failure is a DiskError whose `code` is the host's (ENOSPC, EIO, EROFS, EACCES ...).
 */
export class DiskError extends Error {
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DiskError";
    this.code = code;
  }
}

/** Prefix of the names of the files that `Disk.lock` keeps in the directory. */
export const lockFilePrefix = "LOCK";

export interface DiskFile {
  /** Writes all buffers, in order, at `position`; buffers are borrowed until it settles. */
  write(buffers: readonly Uint8Array[], position: number): Promise<void>;
  /** Reads up to `length` bytes at `position`; fewer only at the end of the file. The caller owns the result. */
  read(position: number, length: number): Promise<Uint8Array>;
  /**
   * `write`, and these bytes survive a crash once it resolves; others may not. One trip to the host.
   * Rejects too when a `sync` that ran beside it met their failure: that call did not take it away.
   */
  writeDurably(buffers: readonly Uint8Array[], position: number): Promise<void>;
  /**
   * `writeDurably` for a caller that would rather hold the loop than wait for the host's threads:
   * undefined when it is done on return, as it is unless the host must prepare something. Throws
   * or rejects.
   */
  writeDurablyAtOnce(buffers: readonly Uint8Array[], position: number): Promise<void> | undefined;
  /** Calls fdatasync: once it resolves, all data written before the call survives a crash. */
  sync(): Promise<void>;
  size(): Promise<number>;
  truncate(size: number): Promise<void>;
  /** Extends a shorter file to `size` bytes; the new bytes read as zeros. Reserves no room on the disk. */
  extend(size: number): Promise<void>;
  close(): Promise<void>;
}

export type ReadableFile = Pick<DiskFile, "read" | "size" | "close">;

export interface DiskLock {
  release(): Promise<void>;
}

export interface Disk {
  /** `create` fails with EEXIST when the file exists; `write` and `read` fail with ENOENT when it does not. */
  open(path: string, mode: "create" | "write" | "read"): Promise<DiskFile>;
  /** Returns the names in the directory, sorted. Rejects with ENOENT when the directory does not exist. */
  list(directory: string): Promise<readonly string[]>;
  /** Makes the directory and its parents, mode 0700. */
  makeDirectory(directory: string): Promise<void>;
  rename(source: string, target: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes creations, renames and removals in `directory` durable. */
  syncDirectory(directory: string): Promise<void>;
  /** Free bytes for files in `directory`, as far as this process may use them. */
  freeBytes(directory: string): Promise<number>;
  /** Compresses `bytes`, off the loop where the host can. `bytes` are borrowed until it settles; the caller owns the result. */
  pack(bytes: Uint8Array): Promise<Uint8Array>;
  /** Reverses `pack`. Rejects with code EUNPACK when `packed` is damaged, or holds more than `bytesMax`. */
  unpack(packed: Uint8Array, bytesMax: number): Promise<Uint8Array>;
  /**
   * Takes the exclusive lock of a directory, or throws DiskError ELOCKED with the holder's pid. The host frees the
   * lock when the process dies.
   */
  lock(directory: string): Promise<DiskLock>;
  /**
   * Shared lock: excludes `lock`, allows other readers; throws ELOCKED while the directory is locked. Writes
   * nothing: in a directory that was never locked there is no lock file to hold, and `release` rejects with
   * ELOCKED if the directory was locked meanwhile.
   */
  lockForReading(directory: string): Promise<DiskLock>;
}
