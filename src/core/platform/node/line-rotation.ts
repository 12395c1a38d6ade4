/**
 * Rotation of a log by its size, with the names of lumberjack, which upstream uses: `audit.log` becomes
 * `audit-2026-01-02T03-04-05.006.log`, packed with `.gz` behind it.
 *
 * Bounds of the old files the newest `backupsMax` stay, none older than `ageMsMax`; 0 is no limit.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

export interface LineRotation {
  readonly bytesMax: number;
  readonly backupsMax: number;
  readonly ageMsMax: number;
  readonly isPacked: boolean;
}

/** Renames the file at `path`. `tidied` settles when old files have been packed and removed, best effort: it never rejects. */
export async function rotate(
  path: string,
  rotation: LineRotation,
  nowMs: number,
): Promise<{ readonly tidied: Promise<void> }> {
  await rename(path, backupName(path, nowMs));
  return { tidied: tidy(path, rotation, nowMs).catch(() => {}) };
}

function backupName(path: string, ms: number): string {
  const extension = extname(path);
  const time = new Date(ms).toISOString().slice(0, -1).replaceAll(":", "-");
  return join(dirname(path), `${basename(path, extension)}-${time}${extension}`);
}

const packedEnd = ".gz";

async function tidy(path: string, rotation: LineRotation, nowMs: number): Promise<void> {
  const { backupsMax, ageMsMax, isPacked } = rotation;
  const backups = await backupsOf(path);
  const tooMany = backupsMax === 0 ? [] : backups.slice(backupsMax);
  const tooOld = backups.filter(({ ms }) => ageMsMax !== 0 && ms < nowMs - ageMsMax);
  const gone = new Set([...tooMany, ...tooOld]);
  for (const { file } of gone) await rm(file, { force: true });
  if (!isPacked) return;
  for (const one of backups)
    if (!gone.has(one) && !one.file.endsWith(packedEnd)) await pack(one.file);
}

interface Backup {
  readonly file: string;
  readonly ms: number;
}

/** Returns the rotated files of `path`, newest first. */
async function backupsOf(path: string): Promise<readonly Backup[]> {
  const extension = extname(path);
  const start = `${basename(path, extension)}-`;
  const names = await readdir(dirname(path));
  const backups = names.flatMap((name) => {
    const plain = name.endsWith(packedEnd) ? name.slice(0, -packedEnd.length) : name;
    if (!plain.startsWith(start) || !plain.endsWith(extension)) return [];
    const time = plain.slice(start.length, plain.length - extension.length);
    const ms = Date.parse(`${time.replace(/T(\d\d)-(\d\d)-/, "T$1:$2:")}Z`);
    return Number.isNaN(ms) ? [] : [{ file: join(dirname(path), name), ms }];
  });
  return backups.toSorted((one, other) => other.ms - one.ms);
}

async function pack(file: string): Promise<void> {
  const target = createWriteStream(`${file}${packedEnd}`, { mode: 0o600 });
  await pipeline(createReadStream(file), createGzip(), target);
  await rm(file, { force: true });
}
