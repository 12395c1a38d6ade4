/**
 * Keeps the selectors of one watch in the pool of all selectors (`#watch/selector-pool.ts`) while the watch is open.
 */
import { tooManyRequests } from "#api/status.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { KeptSelector, SelectorLimits, SelectorPool } from "#watch/selector-pool.ts";

/** Room per caller for 20 watches with the longest possible selectors, and for 16 such callers in total. */
export const selectorLimits: SelectorLimits = {
  callerBytesMax: 4 * 2 ** 20,
  bytesMax: 64 * 2 ** 20,
};

const retryAfterSeconds = 10;
const full = "too many long selectors are held by watches, please try again later";

/** The kept selectors of one watch of `caller`. */
export class KeptSelectors implements Disposable {
  readonly #pool: SelectorPool;
  readonly #caller: string;
  #kept: KeptSelector[] = [];

  constructor(pool: SelectorPool, caller: string) {
    this.#pool = pool;
    this.#caller = caller;
  }

  /** @throws ApiError 429 when the caller, or all callers together, have reached their limit. */
  keep(predicate: Predicate): Predicate {
    const kept = this.#pool.keep(this.#caller, predicate);
    if (kept === undefined) throw tooManyRequests(full, retryAfterSeconds);
    this.#kept.push(kept);
    return kept.predicate;
  }

  [Symbol.dispose](): void {
    for (const kept of this.#kept) kept[Symbol.dispose]();
    this.#kept = [];
  }
}
