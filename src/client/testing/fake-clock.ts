/**
 * A clock that stands still until a test moves it. Timers fire in order of their time; between two
 * of them the promises they set off run to their end, as far as microtasks carry them.
 */
import type { Clock, Timer, TimerName } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";

interface Armed {
  readonly name: TimerName;
  readonly dueMs: number;
  readonly order: number;
  readonly f: () => void;
}

/** Deeper promise chains than any of our rooms has between two timers. */
const settleTurns = 400;

export class FakeClock implements Clock {
  readonly #armed = new Set<Armed>();
  #elapsedMs = 0;
  #order = 0;
  #startMs: number;

  constructor(start = "2026-01-01T00:00:00Z") {
    this.#startMs = Date.parse(start);
  }

  nowMs(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  after(name: TimerName, delayMs: number, f: () => void): Timer {
    const armed = { name, dueMs: this.#elapsedMs + delayMs, order: this.#order++, f };
    this.#armed.add(armed);
    return { cancel: () => void this.#armed.delete(armed) };
  }

  /** Jumps like a host clock that is set by hand; timers are not affected. */
  jumpWall(ms: number): void {
    this.#startMs += ms;
  }

  /** Names of the timers that wait, soonest first. */
  armed(): TimerName[] {
    return this.#sorted().map((timer) => timer.name);
  }

  /** Moves time on by `ms`, firing what gets due, and lets promises settle. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await settle();
    for (;;) {
      const next = this.#sorted()[0];
      if (next === undefined || next.dueMs > endMs) break;
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#armed.delete(next);
      next.f();
      await settle();
    }
    this.#elapsedMs = endMs;
  }

  /** Fires the next timer that is due now, if there is one, and lets promises settle. */
  async turn(): Promise<void> {
    await settle();
    const next = this.#sorted()[0];
    if (next === undefined || next.dueMs > this.#elapsedMs) return;
    this.#armed.delete(next);
    next.f();
    await settle();
  }

  #sorted(): Armed[] {
    return [...this.#armed].sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
  }
}

/** Lets everything run that needs no time to pass. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < settleTurns; turn++) await Promise.resolve();
}

/** Deterministic randomness for tests: xorshift32 from `seed` (not 0). */
export function fakeRandom(seed = 1): Random {
  let state = seed >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  const hex = (digits: number): string => {
    let text = "";
    while (text.length < digits) text += next().toString(16).padStart(8, "0");
    return text.slice(0, digits);
  };
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => next() & 0xff),
    below: (bound) => next() % bound,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
