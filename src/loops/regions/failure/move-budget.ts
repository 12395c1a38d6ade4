/**
 * How fast replicas of lost regions are made elsewhere: one budget for all of them.
 *
 * Holds  over any time t, at most `burst + perSecond * t` replicas are moved, however many regions are lost and however many
 *        placements wait; a grant is at most `shareOfRoom` of the room that the surviving regions report for that shape.
 */
import type { Clock } from "#platform/clock.ts";

export interface MoveLimits {
  readonly podsPerSecond: number;
  /** Number of pods that may move at once after a quiet time. */
  readonly burst: number;
  /** Share of the free room that a move may use, 0 to 1. */
  readonly shareOfRoom: number;
}

export class MoveBudget {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #limits: MoveLimits;
  #tokens: number;
  #sinceMs: number;

  constructor(clock: Pick<Clock, "monotonicMs">, limits: MoveLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#sinceMs = clock.monotonicMs();
  }

  /** @returns how many of `wanted` replicas may move now. `room`: free room; undefined when no region reports it. */
  take(wanted: number, room: number | undefined): number {
    this.#fill();
    const fits = room === undefined ? wanted : Math.floor(room * this.#limits.shareOfRoom);
    const granted = Math.max(0, Math.min(wanted, fits, Math.floor(this.#tokens)));
    this.#tokens -= granted;
    return granted;
  }

  /** Returns unused tokens to the budget. */
  putBack(count: number): void {
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + count);
  }

  /** Time until one more replica may move. */
  waitMs(): number {
    this.#fill();
    const missing = 1 - this.#tokens;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#limits.podsPerSecond) * 1_000);
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const earned = ((nowMs - this.#sinceMs) / 1_000) * this.#limits.podsPerSecond;
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + earned);
    this.#sinceMs = nowMs;
  }
}
