/**
 * The directory lock: a lock of the operating system, taken through the SQLite that comes with Node on
 * an empty file called LOCK. It goes when the process goes, however it ends, and holds between
 * containers that share a volume. Node itself offers no file lock, and files with a process id in them
 * lie after a crash.
 *
 * Readers take a shared one on the same file, which asks for nothing but reading it: so a directory on a
 * read-only disk can be looked at, and is left as it was.
 */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pid } from "node:process";
import type { DatabaseSync } from "node:sqlite";
import { DiskError, lockFilePrefix } from "../disk.ts";
import type { DiskLock } from "../disk.ts";
import { diskError, named } from "./disk-error.ts";

/** SQLITE_BUSY: somebody else has it. */
const sqliteBusy = 5;
const alone =
  "PRAGMA busy_timeout=0; PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE";
/** A shared lock is held from the first reading to the end of the transaction. */
const shared = "PRAGMA busy_timeout=0; BEGIN; SELECT count(*) FROM sqlite_master";

export async function lockDirectory(directory: string): Promise<DiskLock> {
  const path = join(directory, lockFilePrefix);
  const holderPath = `${path}.holder`;
  const held = await lockFile(directory, alone, false);
  await named("write", holderPath, writeFile(holderPath, `${pid}\n`, { mode: 0o600 }));
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
  // Loaded only here: it takes milliseconds, and most processes lock nothing.
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

/** Whether those who hold the lock share it. */
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
