/**
 * Pool of the long selectors of open watches. Equal selectors are kept once. There is a bound on the selectors kept
 * for one caller and on those kept for all. Short selectors cost as little as the watch itself and are not pooled.
 *
 * Holds  `bytes` is the sum of the kept selectors, each counted once; a caller is charged for each of its different
 *        selectors.
 * Bounds `callerBytesMax`, `bytesMax`: a watch that would exceed either is refused.
 */
import { assert } from "#base/assert.ts";
import type { Predicate } from "./predicate.ts";

export interface SelectorLimits {
  /** Maximum bytes per caller: some 20 watches with 19,000 different requirements each. */
  readonly callerBytesMax: number;
  readonly bytesMax: number;
}

interface Held {
  readonly predicate: Predicate;
  /** Number of watches that use it. */
  uses: number;
}

type CallerHeld = Map<string, Held>;

interface Callers {
  readonly held: CallerHeld;
  bytes: number;
}

export interface KeptSelector extends Disposable {
  /** Equal to the given predicate, and shared by all watches that gave an equal one. */
  readonly predicate: Predicate;
}

export class SelectorPool {
  readonly #limits: SelectorLimits;
  readonly #kept = new Map<string, Held>();
  readonly #callers = new Map<string, Callers>();
  #bytes = 0;

  constructor(limits: SelectorLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @returns undefined: the limit of the caller, or of all callers together, is reached. */
  keep(caller: string, predicate: Predicate): KeptSelector | undefined {
    if (!predicate.isLong) return { predicate, [Symbol.dispose]() {} };
    if (!this.#hasRoom(caller, predicate)) return undefined;
    const { held } = this.#take(caller, predicate);
    let isKept = true;
    return {
      predicate: held.predicate,
      [Symbol.dispose]: () => {
        if (isKept) this.#leave(caller, held.predicate.text);
        isKept = false;
      },
    };
  }

  #hasRoom(caller: string, { text, bytes }: Predicate): boolean {
    const own = this.#callers.get(caller);
    const { callerBytesMax, bytesMax } = this.#limits;
    if (own?.held.has(text) !== true && (own?.bytes ?? 0) + bytes > callerBytesMax) return false;
    return this.#kept.has(text) || this.#bytes + bytes <= bytesMax;
  }

  #take(caller: string, predicate: Predicate): { readonly held: Held } {
    const { text } = predicate;
    let held = this.#kept.get(text);
    if (held === undefined) {
      this.#kept.set(text, (held = { predicate, uses: 0 }));
      this.#bytes += predicate.bytes;
    }
    held.uses++;
    this.#charge(caller, held.predicate);
    return { held };
  }

  #charge(caller: string, predicate: Predicate): void {
    let own = this.#callers.get(caller);
    if (own === undefined) this.#callers.set(caller, (own = { held: new Map(), bytes: 0 }));
    const known = own.held.get(predicate.text);
    if (known !== undefined) return void known.uses++;
    own.held.set(predicate.text, { predicate, uses: 1 });
    own.bytes += predicate.bytes;
  }

  #leave(caller: string, text: string): void {
    const held = this.#kept.get(text);
    const own = this.#callers.get(caller);
    const charged = own?.held.get(text);
    assert(held !== undefined && charged !== undefined && own !== undefined, "no such selector");
    if (--held.uses === 0) {
      this.#kept.delete(text);
      this.#bytes -= held.predicate.bytes;
    }
    if (--charged.uses > 0) return;
    own.held.delete(text);
    own.bytes -= held.predicate.bytes;
    if (own.held.size === 0) this.#callers.delete(caller);
  }
}
