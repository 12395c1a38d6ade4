/** Reads the header of a store file and checks that the file belongs to this store and has this name. */
import type { Disk, ReadableFile } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import { CorruptionError } from "../engine.ts";
import { decodeFileHeader, fileHeaderBytes, unreadFormat } from "./files.ts";
import type { FileHeader, FileName } from "./files.ts";

/** Last part of every error about damage. */
export const remedy = "restore the directory from a backup";

export interface Place {
  readonly disk: Disk;
  readonly log: Log;
  readonly directory: string;
}

/** @returns undefined when the header was never written, or is damaged. */
export async function readHeader(
  file: ReadableFile,
  path: string,
  expected: { readonly kind: FileName["kind"]; readonly number: number; readonly storeId: string },
): Promise<FileHeader | undefined> {
  const header = decodeFileHeader(await file.read(0, fileHeaderBytes));
  if (header === undefined) return undefined;
  const unread = unreadFormat(header.format);
  if (unread !== undefined) throw new CorruptionError(`${path}: ${unread}`);
  if (header.storeId !== expected.storeId) {
    throw new CorruptionError(
      `${path}: belongs to store ${header.storeId}, this is ${expected.storeId}: ${remedy}`,
    );
  }
  if (header.kind !== expected.kind || header.number !== expected.number) {
    throw new CorruptionError(
      `${path}: is ${header.kind} ${header.number} under a wrong name: ${remedy}`,
    );
  }
  return header;
}

export function damagedHeader(path: string): CorruptionError {
  return new CorruptionError(`${path}: bad header at offset 0: ${remedy}`);
}
