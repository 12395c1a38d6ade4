/**
 * The streams a relay has open: how many there may be, and the two ways to let them go - all, spread
 * over time, when the relay ends; a few, to where there are fewer, while it goes on.
 *
 * Holds  at most `streamsMax`, and none are admitted any more once the relay is leaving.
 */
import { type ApiError, failure } from "#api/status.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { WatchStream } from "#server/watch-stream.ts";

/** Maximum number of steps of a drain, for any number of streams. */
const drainSteps = 100;

export class OpenStreams {
  /** All open streams; each adds itself when it opens and removes itself when it closes. */
  readonly all = new Set<WatchStream>();
  readonly #clock: Clock;
  readonly #streamsMax: number;
  #leaving = false;

  constructor(deps: { readonly clock: Clock }, limits: { readonly streamsMax: number }) {
    this.#clock = deps.clock;
    this.#streamsMax = limits.streamsMax;
  }

  get size(): number {
    return this.all.size;
  }

  /** Number of streams reported to peers: a relay that is shutting down reports itself as full. */
  get load(): number {
    return this.#leaving ? this.#streamsMax : this.size;
  }

  get leaving(): boolean {
    return this.#leaving;
  }

  /** Admits no new streams from now on. */
  leave(): void {
    this.#leaving = true;
  }

  /** Throws 429 while the relay is shutting down or has too many streams. */
  admit(): void {
    if (this.#leaving) throw busy("the relay is shutting down");
    if (this.size >= this.#streamsMax) throw busy("the relay has too many streams");
  }

  /** Ends all streams one by one over `overMs`, so that their clients do not all reconnect at once. */
  async drain(overMs: number, stopping: AbortSignal): Promise<void> {
    this.leave();
    const steps = Math.min(drainSteps, Math.max(1, this.size));
    for (let left = steps; left > 0; left--) {
      const share = Math.ceil(this.size / left);
      for (const stream of [...this.all].slice(0, share)) stream.end();
      if (left > 1) await sleep(this.#clock, "relay.drain", overMs / steps, stopping);
    }
  }

  /** Asks up to `count` clients to reconnect elsewhere, those of the oldest streams first. @returns the number asked. */
  move(count: number): number {
    let left = count;
    for (const stream of this.all) {
      if (left === 0) break;
      if (stream.retire()) left--;
    }
    return count - left;
  }
}

function busy(message: string): ApiError {
  return failure(429, "TooManyRequests", message, { retryAfterSeconds: 1 });
}
