/**
 * When a mirror delivers its events to watchers: at once after a quiet time, else `flushMs` after the last
 * delivery, so that a busy resource is written in batches.
 *
 * Holds  an event waits `flushMs` at most; each delivery reports how long its oldest event waited.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { WatchCache } from "#watch/cache.ts";
import { PassedRevisions } from "./passed-revisions.ts";

export interface DeliveryDeps {
  readonly clock: Clock;
  readonly cache: WatchCache;
  /** Called after a delivery with the age of its oldest event since it was received. */
  readonly dispatched: ((ageMs: number) => void) | undefined;
}

export interface DeliveryLimits {
  readonly flushMs: number;
  readonly passedMax: number;
}

export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #flushMs: number;
  readonly #passed: PassedRevisions;
  #flushedMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  /** When the oldest undelivered event was received. */
  #waitingMs: number | undefined;

  constructor(deps: DeliveryDeps, limits: DeliveryLimits) {
    this.#deps = deps;
    this.#flushMs = limits.flushMs;
    this.#passed = new PassedRevisions(deps.clock, limits);
  }

  /** The newest revision of the cache holds news, heard at `heardMs`. */
  news(heardMs: number): void {
    this.#waitingMs ??= heardMs;
    this.#passed.note(this.#deps.cache.state.revision);
  }

  soon(): void {
    const waitedMs = this.#deps.clock.monotonicMs() - this.#flushedMs;
    if (this.#flushMs === 0 || waitedMs >= this.#flushMs) return this.now();
    const leftMs = this.#flushMs - waitedMs;
    this.#timer ??= this.#deps.clock.after("watch.flush", leftMs, () => this.now());
  }

  now(): void {
    const { clock, cache, dispatched } = this.#deps;
    this.stop();
    this.#flushedMs = clock.monotonicMs();
    cache.dispatch();
    if (this.#waitingMs === undefined) return;
    dispatched?.(clock.monotonicMs() - this.#waitingMs);
    this.#waitingMs = undefined;
  }

  /** For how long each watcher that is not up to date has been behind, in milliseconds. */
  behindMs(): readonly number[] {
    const positions = this.#deps.cache.positionsBehind();
    return positions.map((position) => this.#passed.ageMs(position));
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
