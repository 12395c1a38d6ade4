/**
 * A clock whose timers belong to one owner: at the owner's end all that are still armed are cancelled.
 *
 * Holds  after `cancelAll` none of its timers runs, and no new one is armed.
 * Cost   one Set entry per armed timer.
 */
import type { Clock, Timer, TimerName } from "./clock.ts";

interface Armed extends Timer {
  readonly name: TimerName;
  readonly cancel: () => void;
}

const cancelled: Timer = { cancel: () => {} };

export class OwnedTimers implements Clock {
  readonly #clock: Clock;
  readonly #armed = new Set<Armed>();
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get armed(): readonly TimerName[] {
    return [...this.#armed].map(({ name }) => name);
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  after(name: TimerName, delayMs: number, f: () => void): Timer {
    if (this.#isOver) return cancelled;
    const timer = this.#clock.after(name, delayMs, () => {
      this.#armed.delete(armed);
      f();
    });
    const cancel = (): void => {
      this.#armed.delete(armed);
      timer.cancel();
    };
    const armed: Armed = { name, cancel };
    this.#armed.add(armed);
    return armed;
  }

  cancelAll(): void {
    this.#isOver = true;
    for (const { cancel } of this.#armed) cancel();
  }
}
