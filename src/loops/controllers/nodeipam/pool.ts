/**
 * Divides one cluster range into ranges of pod addresses: one per node, all of the same size. They are assigned in
 * rotation, so that a released range is not reused at once.
 *
 * Holds  a range is assigned to one node at a time; occupied or reserved ranges are not assigned.
 * Bounds 2^16 ranges at most, as upstream's limit of mask sizes.
 */
import { addressText, type Range } from "#api/validation/ip.ts";

/** Upstream's: a node's mask may be this much longer than the cluster's. */
export const maskDifferenceMax = 16;

export class CidrPool {
  readonly #cluster: Range;
  readonly #maskSize: number;
  readonly #size: number;
  readonly #used = new Set<number>();
  /** Given to nobody, ever. */
  readonly #reserved = new Set<number>();
  #next = 0;

  /** `maskSize` is the prefix length of a node's range, not shorter than the cluster's. */
  constructor(cluster: Range, maskSize: number) {
    this.#cluster = cluster;
    this.#maskSize = maskSize;
    this.#size = 2 ** (maskSize - cluster.prefixLength);
  }

  /** @returns the next free range, which is taken now; undefined: none is free. */
  take(): string | undefined {
    if (this.#isFull()) return undefined;
    while (this.#used.has(this.#next) || this.#reserved.has(this.#next))
      this.#next = (this.#next + 1) % this.#size;
    const taken = this.#next;
    this.#used.add(taken);
    this.#next = (taken + 1) % this.#size;
    return this.#textOf(taken);
  }

  /** The sum counts what is both used and reserved twice: then all are looked at. */
  #isFull(): boolean {
    if (this.#used.size + this.#reserved.size < this.#size) return false;
    return this.#used.union(this.#reserved).size === this.#size;
  }

  /** Never gives out what `range` touches. */
  reserve(range: Range): void {
    this.#mark(this.#reserved, range);
  }

  /** Marks all of its ranges that `range` touches. */
  occupy(range: Range): void {
    this.#mark(this.#used, range);
  }

  release(range: Range): void {
    const [first, last] = this.#indexesOf(range) ?? [0, -1];
    for (let index = first; index <= last; index++) this.#used.delete(index);
  }

  #mark(marks: Set<number>, range: Range): void {
    const [first, last] = this.#indexesOf(range) ?? [0, -1];
    for (let index = first; index <= last; index++) marks.add(index);
  }

  /** Undefined: of another family, or outside of this pool. */
  #indexesOf({ address, prefixLength }: Range): readonly [number, number] | undefined {
    const { address: start, prefixLength: clusterLength } = this.#cluster;
    if (address.family !== start.family) return undefined;
    const shift = this.#shift();
    const base = this.#base();
    const block = 1n << BigInt(this.#bits() - Math.min(prefixLength, this.#maskSize));
    const from = ((address.value / block) * block - base) >> shift;
    const to = ((address.value / block) * block + block - 1n - base) >> shift;
    const last = BigInt(this.#size - 1);
    if (prefixLength < clusterLength && from <= 0n && to >= last) return [0, this.#size - 1];
    return from < 0n || to > last ? undefined : [Number(from), Number(to)];
  }

  #textOf(index: number): string {
    const value = this.#base() + (BigInt(index) << this.#shift());
    return `${addressText({ ...this.#cluster.address, value })}/${this.#maskSize}`;
  }

  #base(): bigint {
    const shift = BigInt(this.#bits() - this.#cluster.prefixLength);
    return (this.#cluster.address.value >> shift) << shift;
  }

  #shift(): bigint {
    return BigInt(this.#bits() - this.#maskSize);
  }

  #bits(): number {
    return this.#cluster.address.family === "IPv4" ? 32 : 128;
  }
}
