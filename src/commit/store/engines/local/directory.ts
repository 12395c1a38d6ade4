/**
 * Takes a directory for a store: creates a missing one, refuses one that another program made.
 *
 * The format file is written last into a new directory, and is synced with it. While the format file is
 * missing, a directory with nothing but the store's locks and temporary files counts as empty.
 */
import type { Disk } from "#platform/disk.ts";
import {
  decodeFormat,
  encodeFormat,
  formatFileName,
  formatVersion,
  isOurs,
  parseFileName,
  temporarySuffix,
} from "./files.ts";
import type { FileName } from "./files.ts";
import { readNewest } from "./newest.ts";
import { readSmall, removeIfThere, replaceFile } from "./replace-file.ts";

/** The directory was not created by Pilothouse, so it is not touched. */
export class ForeignDirectoryError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ForeignDirectoryError";
  }
}

export interface StoreDirectory {
  readonly storeId: string;
  /** Format number from FORMAT. */
  readonly format: number;
  /** Segment numbers, ascending. */
  readonly segments: readonly number[];
  /** Revisions of all checkpoints, packed or not. */
  readonly checkpoints: readonly number[];
  /** Revisions of checkpoints that exist only in packed form. */
  readonly packed: readonly number[];
  /** The segment that the log reached at least, from NEWEST; 0: unknown. */
  readonly newest: number;
}

const nothing = { segments: [], checkpoints: [], packed: [] };

/** Throws ForeignDirectoryError unless the directory is a store, or empty enough to become one. */
export function refuseForeign(directory: string, names: readonly string[]): void {
  if (names.includes(formatFileName)) return;
  const stray =
    names.find((name) => !isOurs(name)) ?? names.find((name) => parseFileName(name) !== undefined);
  if (stray !== undefined) throw new ForeignDirectoryError(foreignMessage(directory, stray));
}

/** The caller holds the directory's lock. `newId` names the store if it has to be created. */
export async function takeDirectory(
  disk: Disk,
  directory: string,
  newId: () => string,
): Promise<StoreDirectory> {
  const names = await disk.list(directory);
  refuseForeign(directory, names);
  if (!names.includes(formatFileName)) {
    const storeId = newId();
    await makeFormat(disk, directory, storeId, names);
    return { storeId, format: formatVersion, ...nothing, newest: 0 };
  }
  const path = `${directory}/${formatFileName}`;
  const { storeId, format } = decodeFormat(await readSmall(disk, path), path);
  await removeTemporary(disk, directory, names);
  const numbers = (kind: FileName["kind"]): number[] =>
    names
      .map(parseFileName)
      .filter((name) => name?.kind === kind)
      .map((name) => (name as FileName).number);
  const newest = await readNewest(disk, directory, names);
  const plain = numbers("checkpoint");
  // After a crash a checkpoint may exist in both forms.
  const packed = numbers("packed").filter((number) => !plain.includes(number));
  const checkpoints = [...packed, ...plain].toSorted((a, b) => a - b);
  return { storeId, format, segments: numbers("log"), checkpoints, packed, newest };
}

function foreignMessage(directory: string, stray: string): string {
  return `directory ${directory} holds ${JSON.stringify(stray)} and no ${formatFileName} file, so it is not a store: choose an empty or a new directory`;
}

async function makeFormat(
  disk: Disk,
  directory: string,
  storeId: string,
  names: readonly string[],
): Promise<void> {
  await removeTemporary(disk, directory, names);
  await writeFormat(disk, directory, storeId);
}

/** Records durably that the directory has the newest format, before anything is written to it. */
export async function writeFormat(disk: Disk, directory: string, storeId: string): Promise<void> {
  await replaceFile(disk, directory, formatFileName, encodeFormat(storeId));
}

async function removeTemporary(
  disk: Disk,
  directory: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    if (name.endsWith(temporarySuffix)) await removeIfThere(disk, `${directory}/${name}`);
  }
}
