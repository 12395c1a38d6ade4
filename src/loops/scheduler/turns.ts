/** Turns of work that takes longer than others may be kept waiting: decisions about many Pods, or one group of many. */
import type { Clock } from "#platform/clock.ts";

/** Of one turn: then events, binds and requests of the same process run. */
const turnMs = 20;

export class Turns {
  readonly #clock: Clock;
  /** Undefined: between two turns. */
  #endMs: number | undefined;
  count = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#endMs = clock.monotonicMs() + turnMs;
  }

  /** True once at the end of each turn; the next look begins another. */
  isOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#endMs ??= nowMs + turnMs;
    if (nowMs < this.#endMs) return false;
    this.#endMs = undefined;
    this.count++;
    return true;
  }
}
