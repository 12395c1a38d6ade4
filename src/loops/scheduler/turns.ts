/** Turns of long work, so that other work need not wait: decisions about many Pods, or about one large group. */
import type { Clock } from "#platform/clock.ts";

/** Length of one turn; after it, events, binds and requests of the same process run. */
const turnMs = 20;

export class Turns {
  readonly #clock: Clock;
  /** End of the current turn. Undefined: between two turns. */
  #endMs: number | undefined;
  count = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#endMs = clock.monotonicMs() + turnMs;
  }

  /** Whether the turn is over: true once at the end of each turn; the next call begins another turn. */
  isOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#endMs ??= nowMs + turnMs;
    if (nowMs < this.#endMs) return false;
    this.#endMs = undefined;
    this.count++;
    return true;
  }
}
