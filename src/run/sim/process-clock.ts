/**
 * The clock of one simulated process: shared time, but its timers die with it, and its monotonic
 * scale begins anew, as a restarted host's does.
 */
import type { Clock, Timer, TimerName } from "#platform/clock.ts";

export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #due: () => void;
  #dead = false;

  /** `due` is called before each timer fires. */
  constructor(clock: Clock, due: () => void = () => undefined) {
    this.#clock = clock;
    this.#due = due;
    this.#startedMs = clock.monotonicMs();
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs;
  }

  after(name: TimerName, delayMs: number, f: () => void): Timer {
    return this.#clock.after(name, delayMs, () => {
      if (!this.#dead) this.#due();
      if (!this.#dead) f();
    });
  }

  /** Stops all timers of this process. */
  kill(): void {
    this.#dead = true;
  }
}
