/**
 * The older of two checkpoints, compressed: it is read only when the newer one is damaged.
 *
 *   PHSTPAK\n, then blocks: u32 bytes of the checkpoint file, u32 bytes packed, the packed bytes
 *
 * P1  It holds the checkpoint file byte for byte: the checksums of header and records protect it.
 * P2  The plain file is removed only after the packed one is durable under its name. While both exist,
 *     the plain one is read.
 * Blocks are packed one by one, so any part is read in the memory of two blocks.
 */
import { type Disk, DiskError, type DiskFile, type ReadableFile } from "#platform/disk.ts";
import { pathOf, temporarySuffix } from "./files.ts";
import { packedBlockBytes, packedBlockHeader, packedMagic } from "./packed-blocks.ts";
import { PackedFile } from "./packed-file.ts";
import { removeIfThere } from "./replace-file.ts";

/** Packs a checkpoint, awaiting `rest` after each block. @returns the size of the packed file. */
export async function packCheckpoint(
  disk: Disk,
  directory: string,
  revision: number,
  rest: () => Promise<void>,
): Promise<number> {
  const plain = pathOf(directory, { kind: "checkpoint", number: revision });
  const packed = pathOf(directory, { kind: "packed", number: revision });
  const temporary = packed + temporarySuffix;
  await removeIfThere(disk, temporary);
  const source = await disk.open(plain, "read");
  const target = await disk.open(temporary, "create");
  let bytes: number;
  try {
    bytes = await writePacked(disk, source, target, rest);
  } finally {
    await source.close();
    await target.close();
  }
  await disk.rename(temporary, packed);
  await disk.syncDirectory(directory);
  await disk.remove(plain);
  return bytes;
}

/** Opens a checkpoint file, packed or not, for reading. @returns it with its path for messages. */
export async function openCheckpoint(
  disk: Disk,
  directory: string,
  revision: number,
): Promise<{ readonly file: ReadableFile; readonly path: string }> {
  const path = pathOf(directory, { kind: "checkpoint", number: revision });
  try {
    return { file: await disk.open(path, "read"), path };
  } catch (error) {
    if (!(error instanceof DiskError) || error.code !== "ENOENT") throw error;
  }
  const packed = pathOf(directory, { kind: "packed", number: revision });
  return { file: await PackedFile.open(disk, packed), path: packed };
}

async function writePacked(
  disk: Disk,
  source: DiskFile,
  target: DiskFile,
  rest: () => Promise<void>,
): Promise<number> {
  const size = await source.size();
  await target.write([packedMagic], 0);
  let at = packedMagic.length;
  for (let start = 0; start < size; start += packedBlockBytes) {
    const bytes = await source.read(start, packedBlockBytes);
    const packed = await disk.pack(bytes);
    const header = packedBlockHeader(bytes.length, packed.length);
    await target.write([header, packed], at);
    at += header.length + packed.length;
    // Synced after each block, so that no commit waits for more.
    await target.sync();
    await rest();
  }
  return at;
}
