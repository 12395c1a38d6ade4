/** The block index of a packed checkpoint: which part of the checkpoint file lies where. */
import { equalBytes } from "#base/bytes.ts";
import type { ReadableFile } from "#platform/disk.ts";

/** Bytes of the checkpoint file per block. */
export const packedBlockBytes = 2 ** 20;
export const packedMagic = new TextEncoder().encode("PHSTPAK\n");
const headerBytes = 8;

export interface PackedBlock {
  /** Offset in the checkpoint file. */
  readonly start: number;
  readonly bytes: number;
  /** Offset in the packed file, after the block's header. */
  readonly at: number;
  readonly packedBytes: number;
}

export function packedBlockHeader(bytes: number, packedBytes: number): Uint8Array {
  const header = new Uint8Array(headerBytes);
  const view = new DataView(header.buffer);
  view.setUint32(0, bytes, true);
  view.setUint32(4, packedBytes, true);
  return header;
}

/** @returns the offset of the first damage, if there is any. */
export async function readPackedBlocks(
  file: ReadableFile,
): Promise<readonly PackedBlock[] | number> {
  const size = await file.size();
  if (!equalBytes(await file.read(0, packedMagic.length), packedMagic)) return 0;
  const blocks: PackedBlock[] = [];
  let start = 0;
  for (let at = packedMagic.length; at < size;) {
    const header = await file.read(at, headerBytes);
    if (header.length < headerBytes) return at;
    const view = new DataView(header.buffer, header.byteOffset);
    const block = { start, bytes: view.getUint32(0, true), packedBytes: view.getUint32(4, true) };
    if (!isSane(block.bytes, at + headerBytes + block.packedBytes, size)) return at;
    blocks.push({ ...block, at: at + headerBytes });
    start += block.bytes;
    at += headerBytes + block.packedBytes;
  }
  return blocks;
}

/** All blocks but the last are full, so that the block of an offset is computed, not searched. */
function isSane(bytes: number, end: number, size: number): boolean {
  if (bytes === 0 || end > size) return false;
  return end === size ? bytes <= packedBlockBytes : bytes === packedBlockBytes;
}
