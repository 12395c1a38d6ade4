/** Shared by the model tests: a history of changes, replicas with a prefix of it, and seeded choices. */
import { put, Tables } from "./test-stream.ts";

/** Returns a random function with values 0 to n - 1. After Tommy Ettinger's mulberry32. */
export function randomOf(start: number): (n: number) => number {
  let state = start >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

export interface Change {
  readonly type: string;
  readonly name: string;
  readonly text: string | undefined;
}

export class Replica {
  readonly tables = new Tables();
  readonly #history: readonly Change[];
  #position = 0;

  constructor(history: readonly Change[]) {
    this.#history = history;
  }

  /** Applies up to `count` changes. */
  advance(count: number): void {
    const to = Math.min(this.#position + count, this.#history.length);
    for (; this.#position < to; this.#position++) {
      const { type, name, text } = this.#history[this.#position] as Change;
      put(this.tables.of(type), name, text);
    }
  }
}
