/**
 * Large buffers that are used again once they are sent: fresh memory costs a page fault for every
 * 4 KiB and feeds the garbage collector, which for an answer of 10 MiB is half of all its time.
 *
 *   take ──▶ filled by the caller ──▶ given(bytes of it to be sent) ──▶ sent, part by part ──▶ free
 *
 * Holds  a buffer is free only when as many bytes of it were sent as were given. Without a call of
 *        `given`, or when the connection is lost before all is sent, the garbage collector takes it.
 * Bounds `freeMax` buffers are kept.
 */
import { Buffer } from "node:buffer";

export class BufferPool {
  readonly #bytes: number;
  readonly #freeMax: number;
  readonly #free: Buffer[] = [];
  /** Bytes still to be sent, by buffer of this pool. */
  readonly #left = new WeakMap<ArrayBufferLike, number>();

  constructor(options: { readonly bytes: number; readonly freeMax: number }) {
    this.#bytes = options.bytes;
    this.#freeMax = options.freeMax;
  }

  /** A buffer of at least `bytes`; one larger than the pool's is allocated and not kept. */
  take(bytes: number): Buffer {
    if (bytes > this.#bytes) return Buffer.allocUnsafeSlow(bytes);
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** Records that `bytes` of it will be sent, in parts, each part once. */
  given(buffer: Buffer, bytes: number): void {
    if (buffer.buffer.byteLength === this.#bytes) this.#left.set(buffer.buffer, bytes);
  }

  /** Records that the parts were sent and will not be read again. */
  sent(parts: readonly Buffer[]): void {
    for (const part of parts) {
      const left = this.#left.get(part.buffer);
      if (left === undefined) continue;
      this.#left.set(part.buffer, left - part.length);
      if (left === part.length) this.#keep(part.buffer);
    }
  }

  #keep(memory: ArrayBufferLike): void {
    this.#left.delete(memory);
    if (this.#free.length < this.#freeMax) this.#free.push(Buffer.from(memory));
  }
}

/** Pieces of answers. At most 32 MiB are kept: about two lists of 10,000 objects of 1.5 KB. */
export const pieces = new BufferPool({ bytes: 512 * 1024, freeMax: 64 });
