/**
 * The data directory: ours, writable, and held by one process.
 *
 *     DIR/PILOTHOUSE   marks the directory as ours and says the layout's version
 *     DIR/LOCK         held by the running process
 *     DIR/store/       the store's log and checkpoints (src/commit/store/FORMAT.md)
 *     DIR/pki/         keys and certificates, 0600
 *     DIR/kubeconfig   cluster-admin, 0600
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { DiskError, type Disk, type DiskLock } from "#platform/disk.ts";
import type { Parts } from "./parts.ts";
import { UsageError } from "./usage-error.ts";

const marker = "PILOTHOUSE";
const layoutVersion = 1;

export interface DataDirectory {
  readonly path: string;
  readonly store: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly lock: DiskLock;
}

/** Creates or checks `path` and takes its lock. Throws UsageError. Files of other programs stay untouched. */
export async function openDataDirectory(disk: Disk, path: string): Promise<DataDirectory> {
  const directory = resolve(path);
  prepare(directory);
  const lock = await takeLock(disk, directory);
  return {
    path: directory,
    store: join(directory, "store"),
    pki: join(directory, "pki"),
    kubeconfig: join(directory, "kubeconfig"),
    lock,
  };
}

/** Opens the directory as one of `parts`, so that its lock is released at the end. */
export function holdDataDirectory(disk: Disk, path: string, parts: Parts): Promise<DataDirectory> {
  return parts.open("data-dir", () => openDataDirectory(disk, path), {
    close: ({ lock }) => lock.release(),
  });
}

function prepare(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    checkMarker(directory);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = "", message } = error as NodeJS.ErrnoException;
    const why =
      {
        EACCES: "permission denied",
        EROFS: "read-only file system",
        EEXIST: "it is not a directory",
        ENOTDIR: "it is not a directory",
        ENOSPC: "no space left",
      }[code] ?? message;
    throw new UsageError(
      `cannot use data directory ${directory}: ${why}; give another with --data-dir`,
      { cause: error },
    );
  }
}

function checkMarker(directory: string): void {
  const path = join(directory, marker);
  if (existsSync(path)) return checkVersion(directory, readFileSync(path, "utf8").trim());
  const foreign = readdirSync(directory).find((name) => name !== "LOCK");
  if (foreign !== undefined) {
    throw new UsageError(
      `${directory} holds something else (${foreign}) and was not made by pilothouse; give an empty or new directory with --data-dir`,
    );
  }
  const next = `${path}.new`;
  writeFileSync(next, `${layoutVersion}\n`, { mode: 0o600 });
  renameSync(next, path);
}

function checkVersion(directory: string, version: string): void {
  if (version === String(layoutVersion)) return;
  throw new UsageError(
    `${directory} has layout version "${version}", this pilothouse knows ${layoutVersion}; use the release that wrote it`,
  );
}

async function takeLock(disk: Disk, directory: string): Promise<DiskLock> {
  try {
    return await disk.lock(directory);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    if (error.code === "ELOCKED") {
      throw new UsageError(
        `${directory} is in use by another pilothouse (${error.message}); stop it, or give another with --data-dir`,
        { cause: error },
      );
    }
    throw new UsageError(`cannot lock data directory ${directory}: ${error.message}`, {
      cause: error,
    });
  }
}
