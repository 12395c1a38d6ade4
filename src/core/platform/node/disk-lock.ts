/**
 * The directory lock: a lock of the operating system, taken through the SQLite that comes with Node on
 * an empty file called LOCK. It is released when the process ends in any way, and works between
 * containers that share a volume. Node itself has no file lock, and a file with a process id in it is
 * wrong after a crash.
 *
 * Readers take a shared lock on the same file, which needs only the right to read it: so a directory on a
 * read-only disk can be read, and is left unchanged.
 */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pid } from "node:process";
import type { DatabaseSync } from "node:sqlite";
import { DiskError, lockFilePrefix } from "../disk.ts";
import type { DiskLock } from "../disk.ts";
import { diskError, asDiskError } from "./disk-error.ts";

/** SQLITE_BUSY: another process holds the lock. */
const sqliteBusy = 5;
const alone =
  "PRAGMA busy_timeout=0; PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE";
/** Statements that take a shared lock; it is held from the first reading to the end of the transaction. */
const shared = "PRAGMA busy_timeout=0; BEGIN; SELECT count(*) FROM sqlite_master";

export async function lockDirectory(directory: string): Promise<DiskLock> {
  const path = join(directory, lockFilePrefix);
  const holderPath = `${path}.holder`;
  const held = await lockFile(directory, alone, false);
  await asDiskError("write", holderPath, writeFile(holderPath, `${pid}\n`, { mode: 0o600 }));
  return { release: () => Promise.resolve(held.close()) };
}

export async function lockDirectoryForReading(directory: string): Promise<DiskLock> {
  const path = join(directory, lockFilePrefix);
  if (existsSync(path)) {
    const held = await lockFile(directory, shared, true);
    return { release: () => Promise.resolve(held.close()) };
  }
  return {
    release: async () => {
      if (!existsSync(path)) return;
      const message = `directory ${directory} was taken into use while it was read: stop its store, and look again`;
      throw new DiskError(message, "ELOCKED");
    },
  };
}

async function lockFile(directory: string, how: string, readOnly: boolean): Promise<DatabaseSync> {
  let database: DatabaseSync | undefined;
  try {
    database = await openDatabase(directory, readOnly);
    database.exec(how);
    return database;
  } catch (error) {
    database?.close();
    throw await lockError(directory, error);
  }
}

async function openDatabase(directory: string, readOnly: boolean): Promise<DatabaseSync> {
  // Loaded only here, because loading takes milliseconds and most processes lock no directory.
  const sqlite = await import("node:sqlite");
  return new sqlite.DatabaseSync(join(directory, lockFilePrefix), { readOnly });
}

async function lockError(directory: string, cause: unknown): Promise<DiskError> {
  const { errcode } = cause as { readonly errcode?: number };
  if (errcode !== sqliteBusy) return diskError("lock", directory, cause as Error);
  const holder = (await onlyRead(directory))
    ? "who reads it (store check, dump or stats): wait for that"
    : `process ${await holderOf(directory)}: stop that one first`;
  const message = `directory ${directory} is in use by ${holder}, or choose another directory`;
  return new DiskError(message, "ELOCKED", { cause });
}

/** Whether all current holders of the lock are readers. */
async function onlyRead(directory: string): Promise<boolean> {
  try {
    const database = await openDatabase(directory, true);
    try {
      database.exec(shared);
      return true;
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

async function holderOf(directory: string): Promise<string> {
  const path = join(directory, `${lockFilePrefix}.holder`);
  return (await readFile(path, "utf8").catch(() => "unknown")).trim();
}
