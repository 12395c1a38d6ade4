/**
 * A count of what a peer sends that costs us work and brings no request forward: it may do so at a pace,
 * and so much at once. Requests, and data in either direction, earn such frames.
 */
import type { Clock } from "#platform/clock.ts";
import type { Allowance } from "./h2-limits.ts";

export class FrameBudget {
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  /** 0 <= #spent; at most `burst` but for the last step. */
  #spent = 0;
  /** Until then, time has been credited. */
  #creditedMs: number;

  constructor(clock: Clock, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
    this.#creditedMs = clock.monotonicMs();
  }

  /** @returns false when it is used up. The clock is looked at only near the end of it. */
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
