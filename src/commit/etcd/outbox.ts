/**
 * The data that a connection sends within one turn of the loop. Small data frames are copied one behind the
 * other into blocks, so that a crowd's copies of one event need no object each; larger ones are passed on.
 *
 *   dataFrame, push ──▶ take ──▶ written ──▶ sent: the blocks are free for the next writer
 *
 * Why blocks are kept: fresh memory costs a page fault for every 4 KiB.
 * Bounds `freeBlocksMax` blocks are kept, for all connections together; the callers of `push` bound the size of
 *        one outbox.
 */
import { Buffer } from "node:buffer";
import { frameHeadBytes, FrameType, writeFrameHead } from "#wire/grpc-frames.ts";

const blockBytes = 64 * 1024;
/** Longer payloads are not copied. */
const copyBytesMax = 4096;
const freeBlocksMax = 256;
const freeBlocks: Buffer[] = [];

/** Output in order, with the blocks that become free when it is written. */
export interface Outgoing {
  readonly parts: readonly Buffer[];
  readonly bytes: number;
  readonly blocks: readonly Buffer[];
}

export class Outbox {
  #parts: Buffer[] = [];
  #blocks: Buffer[] = [];
  #bytes = 0;
  #block: Buffer | undefined;
  /** Start in the open block of the bytes that are not in `parts` yet, and their end. */
  #from = 0;
  #at = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes ownership of whole frames. */
  push(bytes: Buffer): void {
    this.#cut();
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
  }

  /** Adds a data frame. A long payload is not copied and must not change. */
  dataFrame(stream: number, payload: Buffer): void {
    const copied = payload.length <= copyBytesMax;
    const block = this.#room(frameHeadBytes + (copied ? payload.length : 0));
    writeFrameHead(block, this.#at, FrameType.data, 0, stream, payload.length);
    this.#at += frameHeadBytes;
    this.#bytes += frameHeadBytes;
    if (!copied) return this.push(payload);
    block.set(payload, this.#at);
    this.#at += payload.length;
    this.#bytes += payload.length;
  }

  /** Removes and returns all output. */
  take(): Outgoing {
    this.#cut();
    const outgoing = { parts: this.#parts, bytes: this.#bytes, blocks: this.#blocks };
    this.#parts = [];
    this.#blocks = [];
    this.#bytes = 0;
    this.#block = undefined;
    return outgoing;
  }

  #room(bytes: number): Buffer {
    if (this.#block !== undefined && this.#at + bytes <= blockBytes) return this.#block;
    this.#cut();
    const block = freeBlocks.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
    this.#blocks.push(block);
    this.#block = block;
    this.#from = 0;
    this.#at = 0;
    return block;
  }

  /** Makes the pending bytes of the open block a part. */
  #cut(): void {
    if (this.#block === undefined || this.#at === this.#from) return;
    this.#parts.push(this.#block.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }
}

/** Returns the blocks to the pool; their bytes are not read again. */
export function sent({ blocks }: Outgoing): void {
  for (const block of blocks) if (freeBlocks.length < freeBlocksMax) freeBlocks.push(block);
}
