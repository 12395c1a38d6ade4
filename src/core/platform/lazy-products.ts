/**
 * Things that are made when first asked for and kept for those who ask later: one maker each, however many
 * ask before it is made.
 *
 *   get --kept and current--> answer
 *       --being made--------> waits for that maker
 *       --neither-----------> a maker, once one of `makers` is free
 *
 * Holds  1. a key has at most one maker at a time, and all keys together at most `Makers.max`;
 *        2. `get` answers with what was current at its call, or later: who comes after a change of the sources never
 *           gets what was made before it; 3. `get` waits for at most two makers of its key, so sources that change
 *           all the time delay an answer and do not prevent it; 4. what is kept was made of the current sources
 *           when it was put there, and is compared with them at each `get`; 5. a maker that fails fails those who
 *           wait for it, and the next `get` tries again.
 * Bounds keys are the caller's: it passes only those that exist, and lets go of the others by `retain`.
 */
import { assert } from "#base/assert.ts";

interface Product<T> {
  /** Objects that the product is made of, compared by identity. A changed source is another object. */
  readonly sources: () => readonly object[];
  /** Makes the product; a long making is spread over turns of the loop. */
  readonly make: () => Promise<T>;
}

interface Kept<T> {
  readonly value: T;
  readonly sources: readonly object[];
}

interface Flight<T> {
  readonly made: Promise<T>;
  /** Number of the making in the order of beginnings. Undefined: it waits for a free maker. */
  began: number | undefined;
  sources: readonly object[];
}

export class LazyProducts<T> {
  readonly #makers: Makers;
  readonly #kept = new Map<string, Kept<T>>();
  readonly #flights = new Map<string, Flight<T>>();
  #begun = 0;

  constructor(makers: Makers) {
    this.#makers = makers;
  }

  async get(key: string, product: Product<T>): Promise<T> {
    const before = this.#begun;
    for (;;) {
      const sources = product.sources();
      const kept = this.kept(key, sources);
      if (kept !== undefined) return kept.value;
      const flight = this.#flights.get(key) ?? this.#begin(key, product);
      const value = await flight.made;
      const { began } = flight;
      assert(began !== undefined, "something was made that was not begun", { key });
      if (began > before || sameItems(flight.sources, sources)) return value;
    }
  }

  /** Returns the kept value of `key`, if it was made of `sources`. */
  kept(key: string, sources: readonly object[]): { readonly value: T } | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && sameItems(kept.sources, sources) ? kept : undefined;
  }

  /** Drops the values of unknown keys now. Outdated values of known keys are replaced when they are next requested. */
  retain(isKnown: (key: string) => boolean): void {
    for (const key of this.#kept.keys()) if (!isKnown(key)) this.#kept.delete(key);
  }

  /** Drops every kept value. A product that is being made now will be kept. */
  forget(): void {
    this.#kept.clear();
  }

  #begin(key: string, product: Product<T>): Flight<T> {
    const made = this.#makers.run(() => this.#make(key, product, flight));
    const flight: Flight<T> = { made, began: undefined, sources: [] };
    this.#flights.set(key, flight);
    return flight;
  }

  async #make(key: string, product: Product<T>, flight: Flight<T>): Promise<T> {
    flight.began = ++this.#begun;
    flight.sources = product.sources();
    try {
      const value = await product.make();
      const { sources } = flight;
      if (sameItems(sources, product.sources())) this.#kept.set(key, { value, sources });
      else this.#kept.delete(key);
      return value;
    } finally {
      this.#flights.delete(key);
    }
  }
}

/** Runs at most `max` pieces of work at a time; others wait in the order of their arrival. */
export class Makers {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number) {
    assert(max > 0, "nothing would be made", { max });
    this.#max = max;
  }

  /** Runs `work`. The work never begins before this call returns. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn();
    try {
      return await work();
    } finally {
      this.#give();
    }
  }

  #turn(): Promise<void> {
    if (this.#running >= this.#max) return new Promise((go) => this.#waiting.push(go));
    this.#running++;
    return Promise.resolve();
  }

  /** Passes the place of finished work to the next work that waits. */
  #give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

function sameItems(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}
