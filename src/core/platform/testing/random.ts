/**
 * The one random generator of tests and simulation: the same seed gives the same numbers, on any machine.
 * Not for secrets.
 *
 * sfc32 by Chris Doty-Humphrey (PractRand): 128 bits of state, passes PractRand to 32 TB, ~2 ns. Seeds in
 * docs/project/bugs.md count on this stream: a change of it, or of how many numbers a method takes, ends them.
 */
import { assert } from "#base/assert.ts";
import type { Random } from "../random.ts";

export class FakeRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** `seed`: any number; only its low 53 bits count. */
  constructor(seed: number) {
    const whole = Math.trunc(Math.abs(seed));
    this.#a = 0x9e3779b9 | 0;
    this.#b = (whole / 2 ** 32) | 0;
    this.#c = whole | 0;
    // Warm-up of the generator's author: the state is well mixed after twelve steps.
    for (let i = 0; i < 12; i++) this.next32();
  }

  /** Uniform in [0, 2^32). */
  next32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** Uniform integer in [0, bound), without modulo bias. `bound` in 1..2^32. */
  below(bound: number): number {
    assert(Number.isSafeInteger(bound) && bound >= 1 && bound <= 2 ** 32, "bound out of range", {
      bound,
    });
    const limit = 2 ** 32 - (2 ** 32 % bound);
    for (;;) {
      const value = this.next32();
      if (value < limit) return value % bound;
    }
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    return this.next32() / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    assert(items.length > 0, "pick from nothing");
    return items[this.below(items.length)] as T;
  }

  bytes(count: number): Uint8Array {
    const made = new Uint8Array(count);
    for (let i = 0; i < count; i++) made[i] = this.next32() >>> 24;
    return made;
  }

  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const part = (start: number, end: number): string => hex.slice(start, end);
    return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
  }

  /** Returns a new generator; this one's state determines its seed. */
  fork(): FakeRandom {
    return new FakeRandom(this.next32() * 2 ** 21 + (this.next32() >>> 11));
  }
}
