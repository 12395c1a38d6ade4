/** Randomness decided by a seed: the simulated twin of platform/node/random.ts. */
import { Prng } from "#base/prng.ts";
import type { Random } from "#platform/random.ts";

export class SimRandom implements Random {
  readonly #prng: Prng;

  constructor(seed: number) {
    this.#prng = new Prng(seed);
  }

  bytes(count: number): Uint8Array {
    return this.#prng.bytes(count);
  }

  below(bound: number): number {
    return this.#prng.below(bound);
  }

  uuid(): string {
    const bytes = this.#prng.bytes(16);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const part = (start: number, end: number): string => hex.slice(start, end);
    return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
  }
}
