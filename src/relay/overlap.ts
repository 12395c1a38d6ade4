/**
 * Where an upstream's watch goes on so that a frame which came late, and was swallowed by a cut, is
 * told again: before the last `overlapFrames` frames heard within `overlapMs` of the end of the last
 * stream. What came of them is dropped as a repeat, what did not come is out of order.
 *
 * Bounds  `overlapFrames` notes. A frame that was later than that and then lost has no witness here.
 */
import { Ring } from "#base/ring.ts";
import type { Clock } from "#platform/clock.ts";

interface Heard {
  readonly ms: number;
  readonly before: number;
}

export interface OverlapLimits {
  readonly overlapFrames: number;
  readonly overlapMs: number;
}

export class Overlap {
  readonly #clock: Clock;
  readonly #overlapMs: number;
  readonly #frames: Ring<Heard>;
  #endedMs = 0;
  #framesSinceEnd = false;

  constructor(clock: Clock, limits: OverlapLimits) {
    this.#clock = clock;
    this.#overlapMs = limits.overlapMs;
    this.#frames = new Ring(limits.overlapFrames);
  }

  /** A frame came; everything at or below `before` had been told by then. */
  heard(before: number): void {
    this.#frames.push({ ms: this.#clock.monotonicMs(), before });
    this.#framesSinceEnd = true;
  }

  /** The stream is over. One without a frame moves nothing: what the last one swallowed is still out. */
  ended(): void {
    if (!this.#framesSinceEnd) return;
    this.#framesSinceEnd = false;
    this.#endedMs = this.#clock.monotonicMs();
  }

  /** A list told what is true: nothing of before it is missed. */
  clear(): void {
    this.#frames.clear();
  }

  /** Undefined: the last stream's end was quiet. */
  get start(): number | undefined {
    const sinceMs = this.#endedMs - this.#overlapMs;
    for (let at = this.#frames.oldest; at < this.#frames.next; at++) {
      const heard = this.#frames.get(at);
      if (heard !== undefined && heard.ms >= sinceMs) return heard.before;
    }
    return undefined;
  }
}
