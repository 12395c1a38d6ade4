/**
 * The set of reserved node ports, as bits. The servers over one storage share it (upstream's RangeAllocation).
 *
 *   bytes  a big-endian integer of any length; its bit n stands for port `first + n`
 *
 * Random picks come from above the reserved band first, so that small numbers stay free for Services that request a
 * number.
 * After  k/k pkg/registry/core/service/portallocator and allocator/bitmap.go.
 */
import type { Random } from "#platform/random.ts";
import { reservedBand } from "./address-ranges.ts";

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export class PortSet {
  readonly #range: PortRange;
  readonly #taken: Set<number>;

  constructor(range: PortRange, taken: Iterable<number> = []) {
    this.#range = range;
    this.#taken = new Set(taken);
  }

  /** Bits beyond the range are dropped. */
  static fromBytes(range: PortRange, bytes: Uint8Array): PortSet {
    const taken: number[] = [];
    for (let port = range.first; port <= range.last; port++) {
      const bit = port - range.first;
      const byte = bytes[bytes.length - 1 - (bit >> 3)];
      if (byte === undefined) break;
      if ((byte & (1 << (bit & 7))) !== 0) taken.push(port);
    }
    return new PortSet(range, taken);
  }

  /** Without leading zero bytes, as Go's big.Int. */
  toBytes(): Uint8Array {
    const { first } = this.#range;
    let highest = first - 1;
    for (const port of this.#taken) highest = Math.max(highest, port);
    const bytes = new Uint8Array(Math.ceil((highest - first + 1) / 8));
    for (const port of this.#taken) {
      const bit = port - first;
      const at = bytes.length - 1 - (bit >> 3);
      bytes[at] = (bytes[at] ?? 0) | (1 << (bit & 7));
    }
    return bytes;
  }

  get ports(): ReadonlySet<number> {
    return this.#taken;
  }

  contains(port: number): boolean {
    return port >= this.#range.first && port <= this.#range.last;
  }

  /** @returns false when it was already taken. */
  take(port: number): boolean {
    if (this.#taken.has(port)) return false;
    this.#taken.add(port);
    return true;
  }

  free(port: number): void {
    this.#taken.delete(port);
  }

  /** Takes any free port; undefined: the range is full. */
  next(random: Random): number | undefined {
    const { first, last } = this.#range;
    const middle = first + reservedBand(last - first + 1, 32, 128);
    const port = this.#find(middle, last, random) ?? this.#find(first, middle - 1, random);
    if (port !== undefined) this.#taken.add(port);
    return port;
  }

  #find(first: number, last: number, random: Random): number | undefined {
    const count = last - first + 1;
    if (count <= 0) return undefined;
    const start = random.below(count);
    for (let i = 0; i < count; i++) {
      const port = first + ((start + i) % count);
      if (!this.#taken.has(port)) return port;
    }
    return undefined;
  }
}

/** The port set shared by all servers over one storage. */
export interface SharedPorts {
  /**
   * Runs `change` on the newest set and stores the result. Runs it again when another server wrote first. When it
   * throws, nothing is stored. The reserved ports are added to `taken`.
   */
  change<T>(change: (ports: PortSet) => T, options: PortChangeOptions): Promise<T>;
  /** Never rejects: leftovers are repaired later. */
  release(ports: readonly number[]): Promise<void>;
}

export interface PortChangeOptions {
  /** Neither stores nor adds to `taken`. */
  readonly dryRun: boolean;
  readonly taken: Set<number>;
}
