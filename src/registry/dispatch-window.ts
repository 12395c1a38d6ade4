/**
 * When the watchers of a cache get new events: few watchers at once, a crowd at most once per window, so
 * that each socket is written once for all events of the window.
 *
 * Holds  the first write after a quiet window is sent at once; later ones wait `windowMs` at most.
 *        States, lists and waiting reads do not wait: they see every write when it is applied.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { WatchCache } from "#watch/cache.ts";

/** As the relay's: 250 writes a second to each of a crowd's sockets, at most. */
const windowMs = 4;
/** From this many watchers on, delivery takes turns (`#watch/crowd.ts`). */
const crowdMin = 1_000;

export class DispatchWindow {
  readonly #clock: Clock;
  readonly #due = new Set<WatchCache>();
  #beganMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** These were written to. */
  add(caches: Iterable<WatchCache>): void {
    for (const cache of caches) {
      if (cache.watchers < crowdMin) cache.dispatch();
      else this.#due.add(cache);
    }
    if (this.#due.size === 0 || this.#timer !== undefined) return;
    const waitMs = this.#beganMs + windowMs - this.#clock.monotonicMs();
    if (waitMs <= 0) this.#begin();
    else this.#timer = this.#clock.after("watch.flush", waitMs, () => this.#begin());
  }

  close(): void {
    this.#timer?.cancel();
  }

  #begin(): void {
    this.#timer = undefined;
    this.#beganMs = this.#clock.monotonicMs();
    const due = [...this.#due];
    this.#due.clear();
    const thrown: unknown[] = [];
    for (const cache of due) {
      try {
        cache.dispatch();
      } catch (error) {
        thrown.push(error);
      }
    }
    // The other resources were served; the clock's owner hears of the first.
    if (thrown.length > 0) throw thrown[0];
  }
}
