/**
 * Copies values side by side into blocks of its own, for past objects that outlive the store block they lay in.
 *
 * Why   a separate array for each of some thousand values keeps one page of the allocator each, among freed
 *       memory: after churn, 5 MB of values held 25 MB.
 * Holds a block is written by one packer only; the whole block is freed with the last value in it.
 */
const firstBlockBytes = 16 * 1024;
/** The allocator returns blocks of 128 KB and more to the system as soon as they are freed. */
const blockBytesMax = 256 * 1024;

export class ValuePacker {
  #block = new Uint8Array(0);
  #used = 0;
  #nextBytes = firstBlockBytes;

  /** Values larger than half a block get an array of their own. */
  copy(value: Uint8Array): Uint8Array {
    if (value.length > blockBytesMax / 2) return value.slice();
    if (this.#used + value.length > this.#block.length) this.#startBlock(value.length);
    const start = this.#used;
    this.#used += value.length;
    this.#block.set(value, start);
    return this.#block.subarray(start, this.#used);
  }

  #startBlock(bytesMin: number): void {
    while (this.#nextBytes < bytesMin) this.#nextBytes *= 2;
    this.#block = new Uint8Array(this.#nextBytes);
    this.#used = 0;
    this.#nextBytes = Math.min(blockBytesMax, this.#nextBytes * 2);
  }
}
