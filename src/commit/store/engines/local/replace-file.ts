/** Replaces a small file of a store directory atomically. */
import { DiskError, type Disk } from "#platform/disk.ts";
import { temporarySuffix } from "./files.ts";

/** Upper bound of these files' sizes. */
const smallBytesMax = 2 ** 16;

/** The file is durable when the promise resolves. One call at a time for each `name`. */
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
