/** A small file of a store directory, replaced as a whole: it is always the old one or the new one. */
import { DiskError, type Disk } from "#platform/disk.ts";
import { temporarySuffix } from "./files.ts";

/** More than any of them has. */
const smallBytesMax = 2 ** 16;

/** Durable when it resolves. One at a time for each `name`. */
export async function replaceFile(
  disk: Disk,
  directory: string,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  const path = `${directory}/${name}`;
  const temporary = path + temporarySuffix;
  await removeIfThere(disk, temporary);
  const file = await disk.open(temporary, "create");
  try {
    await file.write([bytes], 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(temporary, path);
  await disk.syncDirectory(directory);
}

export async function readSmall(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, "read");
  try {
    return new TextDecoder().decode(await file.read(0, smallBytesMax));
  } finally {
    await file.close();
  }
}

export async function removeIfThere(disk: Disk, path: string): Promise<void> {
  try {
    await disk.remove(path);
  } catch (error) {
    if (!(error instanceof DiskError) || error.code !== "ENOENT") throw error;
  }
}
