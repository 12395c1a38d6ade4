/**
 * Budget for a peer's frames that cost work and advance no request: a rate, and a burst. Requests, and data in either
 * direction, earn such frames.
 */
import type { Clock } from "#platform/clock.ts";
import type { Allowance } from "./h2-limits.ts";

export class FrameBudget {
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  /** 0 <= #spent <= `burst`, except after the last step. */
  #spent = 0;
  /** Time up to which refills have been credited. */
  #creditedMs: number;

  constructor(clock: Clock, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
    this.#creditedMs = clock.monotonicMs();
  }

  /** @returns false when the budget is used up. Reads the clock only near that point. */
  spend(count: number): boolean {
    this.#spent += count;
    if (this.#spent <= this.#allowance.burst) return true;
    const nowMs = this.#clock.monotonicMs();
    this.earn(((nowMs - this.#creditedMs) / 1000) * this.#allowance.perSecond);
    this.#creditedMs = nowMs;
    return this.#spent <= this.#allowance.burst;
  }

  earn(count: number): void {
    this.#spent = Math.max(0, this.#spent - count);
  }
}
