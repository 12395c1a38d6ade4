/**
 * Opens a store directory without changing it: the same recovery as at a start, over a disk that
 * changes nothing. For `store check`, `dump` and `stats`.
 */
import type { Clock } from "#platform/clock.ts";
import { DiskError } from "#platform/disk.ts";
import type { Disk, DiskFile, DiskLock } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import { takeDirectory } from "./engines/local/directory.ts";
import { formatFileName } from "./engines/local/files.ts";
import { recover } from "./engines/local/recover.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import { Recovery } from "./recover.ts";
import { Slabs } from "./slabs.ts";

const emptyRevision = 1;
/** Nothing is written to slabs here; slabs that are read keep their size. */
const slabBytes = 2 ** 20;

export interface LoadDeps {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LoadedStore {
  readonly storeId: string;
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly checkpointRevision: number;
  readonly epoch: number;
}

/** Locks the directory while `read` runs and changes nothing in it. Rejects like opening a store. */
export async function withDirectory<T>(
  disk: Disk,
  directory: string,
  read: (disk: Disk) => Promise<T>,
): Promise<T> {
  const names = await disk.list(directory);
  if (!names.includes(formatFileName)) {
    const message = `directory ${directory} holds no ${formatFileName} file, so it is not a store`;
    throw new DiskError(message, "ENOENT");
  }
  const lock = await disk.lockForReading(directory);
  try {
    return await read(new ReadOnlyDisk(disk));
  } finally {
    await lock.release();
  }
}

/** The state as the next start would recover it. `disk` comes from `withDirectory`. */
export async function loadReadOnly(deps: LoadDeps, directory: string): Promise<LoadedStore> {
  const mvcc = new Mvcc(new Slabs(slabBytes), emptyRevision);
  const leases = new Leases(deps.clock);
  const recovery = new Recovery(mvcc, leases);
  const found = await takeDirectory(deps.disk, directory, () => "");
  const recovered = await recover({ ...deps, directory }, found, recovery);
  await recovered.tail?.file.close();
  recovery.finish();
  const { checkpointRevision, epoch } = recovered;
  return { storeId: found.storeId, mvcc, leases, checkpointRevision, epoch };
}

class ReadOnlyDisk implements Disk {
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async open(path: string, mode: "create" | "write" | "read"): Promise<DiskFile> {
    if (mode === "create") throw new DiskError(`${path} would be made`, "EROFS");
    return new ReadOnlyFile(await this.#disk.open(path, "read"));
  }

  list(directory: string): Promise<readonly string[]> {
    return this.#disk.list(directory);
  }

  freeBytes(directory: string): Promise<number> {
    return this.#disk.freeBytes(directory);
  }

  pack(bytes: Uint8Array): Promise<Uint8Array> {
    return this.#disk.pack(bytes);
  }

  unpack(packed: Uint8Array, bytesMax: number): Promise<Uint8Array> {
    return this.#disk.unpack(packed, bytesMax);
  }

  lock(directory: string): Promise<DiskLock> {
    return Promise.reject(new DiskError(`${directory} would be locked`, "EROFS"));
  }

  lockForReading(directory: string): Promise<DiskLock> {
    return this.#disk.lockForReading(directory);
  }

  // Files that recovery would tidy up are left as they are.

  makeDirectory(): Promise<void> {
    return Promise.resolve();
  }

  rename(source: string): Promise<void> {
    return Promise.reject(new DiskError(`${source} would be renamed`, "EROFS"));
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  syncDirectory(): Promise<void> {
    return Promise.resolve();
  }
}

class ReadOnlyFile implements DiskFile {
  readonly #file: DiskFile;

  constructor(file: DiskFile) {
    this.#file = file;
  }

  read(position: number, length: number): Promise<Uint8Array> {
    return this.#file.read(position, length);
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  write(): Promise<void> {
    return Promise.reject(new DiskError("a file would be written", "EROFS"));
  }

  /** Recovery rewrites what it read last, to make it durable; any other write would be a change. */
  async writeDurably(buffers: readonly Uint8Array[], position: number): Promise<void> {
    let at = position;
    for (const buffer of buffers) {
      const there = await this.#file.read(at, buffer.length);
      if (!equalBytes(there, buffer)) return this.write();
      at += buffer.length;
    }
  }

  writeDurablyAtOnce(): Promise<void> {
    return this.write();
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  truncate(): Promise<void> {
    return Promise.resolve();
  }

  extend(): Promise<void> {
    return Promise.resolve();
  }
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
