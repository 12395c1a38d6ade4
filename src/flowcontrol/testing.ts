/** A clock moved by hand for this room's tests: timers fire inside `advance`, in order of their due time. */
import type { Clock } from "#platform/clock.ts";

interface HandClock extends Clock {
  advance(ms: number): void;
  /** Milliseconds until the next timer; undefined when none is set. */
  nextMs(): number | undefined;
}

export function handClock(startMs = Date.UTC(2026, 0, 1)): HandClock {
  let now = 0;
  let timers: { readonly due: number; readonly f: () => void }[] = [];
  const next = (): number | undefined =>
    timers.length === 0 ? undefined : Math.min(...timers.map((timer) => timer.due));
  return {
    nowMs: () => startMs + now,
    monotonicMs: () => now,
    after(_name, delayMs, f) {
      const timer = { due: now + delayMs, f };
      timers.push(timer);
      return { cancel: () => (timers = timers.filter((other) => other !== timer)) };
    },
    advance(ms) {
      const end = now + ms;
      for (let due = next(); due !== undefined && due <= end; due = next()) {
        now = due;
        const firing = timers.filter((timer) => timer.due === due);
        timers = timers.filter((timer) => timer.due !== due);
        for (const timer of firing) timer.f();
      }
      now = end;
    },
    nextMs() {
      const due = next();
      return due === undefined ? undefined : due - now;
    },
  };
}

/** Uniform integers from a seed. */
export function seeded(seed: number): (bound: number) => number {
  let state = seed >>> 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % bound;
  };
}
