/**
 * Where an upstream watch resumes so that a frame which was late, and then lost in a cut, is sent again:
 * before the last `overlapFrames` frames received within `overlapMs` of the end of the last stream. Frames
 * already received are dropped as repeats; missing ones are detected as out of order.
 *
 * Bounds  `overlapFrames` notes. A frame later than that and then lost is not detected here.
 */
import { Ring } from "#base/ring.ts";
import type { Clock } from "#platform/clock.ts";

interface Heard {
  readonly ms: number;
  readonly before: number;
}

interface OverlapLimits {
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

  /** Notes a frame; `before`: revision up to which everything had been received when the frame arrived. */
  heard(before: number): void {
    this.#frames.push({ ms: this.#clock.monotonicMs(), before });
    this.#framesSinceEnd = true;
  }

  /** Notes the end of a stream. A stream without a frame changes nothing: frames lost in the previous one are still missing. */
  ended(): void {
    if (!this.#framesSinceEnd) return;
    this.#framesSinceEnd = false;
    this.#endedMs = this.#clock.monotonicMs();
  }

  /** Forgets all frames, because a list was applied and none needs to be repeated. */
  clear(): void {
    this.#frames.clear();
  }

  /** Revision after which frames are repeated. Undefined: no frame arrived within `overlapMs` of the last stream's end. */
  get start(): number | undefined {
    const sinceMs = this.#endedMs - this.#overlapMs;
    for (let at = this.#frames.oldest; at < this.#frames.next; at++) {
      const heard = this.#frames.get(at);
      if (heard !== undefined && heard.ms >= sinceMs) return heard.before;
    }
    return undefined;
  }
}
