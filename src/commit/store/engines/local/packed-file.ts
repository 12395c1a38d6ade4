/** Reads a checkpoint file from its packed form, one block in memory at a time. */
import { concatBytes } from "#base/bytes.ts";
import { type Disk, DiskError, type ReadableFile } from "#platform/disk.ts";
import { CorruptionError } from "../engine.ts";
import { remedy } from "./header.ts";
import { type PackedBlock, packedBlockBytes, readPackedBlocks } from "./packed-blocks.ts";

export class PackedFile implements ReadableFile {
  readonly #disk: Disk;
  readonly #file: ReadableFile;
  readonly #path: string;
  readonly #blocks: readonly PackedBlock[];
  #last: { readonly index: number; readonly bytes: Uint8Array } | undefined;

  private constructor(
    disk: Disk,
    file: ReadableFile,
    path: string,
    blocks: readonly PackedBlock[],
  ) {
    this.#disk = disk;
    this.#file = file;
    this.#path = path;
    this.#blocks = blocks;
  }

  /** Rejects with CorruptionError when the blocks do not cover the file without gaps. */
  static async open(disk: Disk, path: string): Promise<PackedFile> {
    const file = await disk.open(path, "read");
    const blocks = await readPackedBlocks(file);
    if (typeof blocks !== "number") return new PackedFile(disk, file, path, blocks);
    await file.close();
    throw damaged(path, blocks);
  }

  /** Rejects with CorruptionError when a block is damaged. */
  async read(position: number, length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    const end = Math.min(position + length, await this.size());
    for (let at = position; at < end;) {
      const index = Math.floor(at / packedBlockBytes);
      const start = index * packedBlockBytes;
      const bytes = await this.#unpacked(index);
      parts.push(bytes.subarray(at - start, end - start));
      at = start + bytes.length;
    }
    return concatBytes(parts);
  }

  size(): Promise<number> {
    const last = this.#blocks.at(-1);
    return Promise.resolve(last === undefined ? 0 : last.start + last.bytes);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #unpacked(index: number): Promise<Uint8Array> {
    if (this.#last?.index === index) return this.#last.bytes;
    const { at, bytes: length, packedBytes } = this.#blocks[index] as PackedBlock;
    const packed = await this.#file.read(at, packedBytes);
    const bytes = await this.#disk.unpack(packed, length).catch((error: unknown) => {
      if (error instanceof DiskError) throw damaged(this.#path, at);
      throw error;
    });
    if (bytes.length !== length) throw damaged(this.#path, at);
    this.#last = { index, bytes };
    return bytes;
  }
}

function damaged(path: string, offset: number): CorruptionError {
  return new CorruptionError(`${path}: bad block at offset ${offset}: ${remedy}`);
}
